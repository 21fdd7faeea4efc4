/** Where a program listens, and whether it answers there. */
import { get } from 'node:http';
import { createServer } from 'node:net';

/** A Unix socket, or a port of 127.0.0.1. */
export type Address = { readonly socketPath: string } | { readonly port: number };

const healthMsMax = 1_000;

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (bound === null || typeof bound === 'string') throw new Error('the system gave no port');
  return bound.port;
}

/** Replaces `{socket}` or `{port}`, whichever the address has. */
export function withAddress(text: string, address: Address): string {
  return 'port' in address
    ? text.replaceAll('{port}', String(address.port))
    : text.replaceAll('{socket}', address.socketPath);
}

/** Whether the health path answers 2xx. */
export function isHealthy(address: Address, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', ...address, path, agent: false, timeout: healthMsMax },
      (response) => {
        const { statusCode = 0 } = response;
        response.destroy();
        resolve(statusCode >= 200 && statusCode < 300);
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

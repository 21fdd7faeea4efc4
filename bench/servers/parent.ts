import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Started {
  readonly origin: string;
  readonly key: string;
  /** Only Parley sets it: a key with every limit, in an account with every limit. */
  readonly limitedKey?: string;
}

export function cpuUsed() {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000 };
}

/**
 * Sends the parent process the server's address, answers each of its messages, exits with the parent.
 *
 * @param answer Default: answers with the CPU used in ms
 */
export function serveParent<Message>(
  started: Started,
  close: () => Promise<void>,
  answer: (message: Message) => object | Promise<object> = cpuUsed,
): void {
  process.on('message', async (message: Message) => process.send?.(await answer(message)));
  process.once('disconnect', () => void close().then(() => process.exit(0)));
  process.send?.(started);
}

/** Serves HTTP on a free port until the parent exits. */
export function serveHttp(server: Server): void {
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', 4_096, () => {
    const { port } = server.address() as AddressInfo;
    serveParent({ origin: `http://127.0.0.1:${port}`, key: 'none' }, async () =>
      server.closeAllConnections(),
    );
  });
}

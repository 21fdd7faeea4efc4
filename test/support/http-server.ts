/** A plain HTTP server of a test, for answers that no Parley gives. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

interface HttpServer {
  /** Address such as `http://127.0.0.1:40123`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** @param tls certificate and key. Default: no TLS */
export async function startHttp(handle: RequestListener, tls?: ServerOptions): Promise<HttpServer> {
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A port on which nothing listened a moment ago. */
export async function freePort(): Promise<number> {
  const { origin, close } = await startHttp(() => undefined);
  await close();
  return Number(new URL(origin).port);
}

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Started {
  readonly origin: string;
  readonly key: string;
}

/** Sends the parent process the server's address, answers each of its messages with the CPU used in ms, exits with the parent. */
export function serveParent(started: Started, close: () => Promise<void>): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMs: (user + system) / 1000 });
  });
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

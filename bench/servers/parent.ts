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

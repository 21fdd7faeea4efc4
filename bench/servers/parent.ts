/** Between a server in a child process and the benchmark that started it. */
export interface Started {
  readonly origin: string;
  readonly key: string;
}

/** Tells the parent where the server listens, answers each message with the CPU used so far in ms, ends with the parent. */
export function serveParent(started: Started, close: () => Promise<void>): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMs: (user + system) / 1000 });
  });
  process.once('disconnect', () => void close().then(() => process.exit(0)));
  process.send?.(started);
}

/** Processor time, which does not grow when other programs use the processors too. */
function ms({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** Milliseconds of processor time that this thread spends on `work`. */
export function threadCpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  return ms(process.threadCpuUsage(before));
}

/** The share of this thread in the process's processor time while `work` runs, from 0 to 1. */
export async function threadShare(work: () => Promise<unknown>): Promise<number> {
  const [thread, all] = [process.threadCpuUsage(), process.cpuUsage()];
  await work();
  return ms(process.threadCpuUsage(thread)) / ms(process.cpuUsage(all));
}

/** The machine that a run was made on, and whether it has time for one. */
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const watchMs = 1_000;
const idleShareMin = 0.9;
/** Work that has just ended is still in the average over a minute: it stands for what may begin again. */
const loadPerCoreMax = 0.5;

export interface MachineLoad {
  /** Of the CPU time of all cores over a second. */
  readonly idleShare: number;
  /** Processes that wanted to run, over a minute. */
  readonly loadAverage: number;
}

export async function measureLoad(): Promise<MachineLoad> {
  const before = cpuTimes();
  await sleep(watchMs);
  const after = cpuTimes();
  const [loadAverage = 0] = loadavg();
  return { idleShare: (after.idle - before.idle) / (after.all - before.all), loadAverage };
}

/** Why this is no machine to measure on now; undefined where it is. */
export function reasonToRefuse({ idleShare, loadAverage }: MachineLoad): string | undefined {
  if (idleShare < idleShareMin) {
    return `its cores were idle for ${percent(idleShare)} of a second, not for ${percent(idleShareMin)}`;
  }
  const loadMax = loadPerCoreMax * availableParallelism();
  if (loadAverage > loadMax) return `its load was ${loadAverage.toFixed(1)} over a minute, not ${loadMax}`;
  return undefined;
}

export function describeMachine() {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
  };
}

export const percent = (share: number) => `${Math.round(share * 100)} %`;

function cpuTimes(): { idle: number; all: number } {
  const sums = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sums.idle += times.idle;
    sums.all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return sums;
}

/** The machine of a run, and whether it is idle enough. */
import { statfsSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const tmpfsType = 0x01021994;
const watchMs = 1_000;
const idleShareMin = 0.9;
/** The average over a minute also shows work that pauses and may start again. */
const loadPerCoreMax = 0.5;

export interface MachineLoad {
  /** Idle share of the CPU time of all cores, over one second. */
  readonly idleShare: number;
  /** Runnable processes, averaged over a minute. */
  readonly loadAverage: number;
}

export async function measureLoad(): Promise<MachineLoad> {
  const before = cpuTimes();
  await sleep(watchMs);
  const after = cpuTimes();
  const [loadAverage = 0] = loadavg();
  return { idleShare: (after.idle - before.idle) / (after.all - before.all), loadAverage };
}

/** Returns undefined where the machine is idle enough. */
export function reasonToRefuse({ idleShare, loadAverage }: MachineLoad): string | undefined {
  if (idleShare < idleShareMin) {
    return `its cores were idle ${percent(idleShare)} of a second, less than ${percent(idleShareMin)}`;
  }
  const loadMax = loadPerCoreMax * availableParallelism();
  if (loadAverage > loadMax) return `its load average is ${loadAverage.toFixed(2)}, more than ${loadMax}`;
  return undefined;
}

/** Says whether a sync costs nothing where databases are. */
export const notesOnDisk = (): string[] =>
  statfsSync(tmpdir()).type === tmpfsType
    ? ['TMPDIR is in memory, where a sync costs nothing. Set it to a folder on a disk.']
    : [];

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

/** The highest allowed cost of an attack, on two cores. */
import type { Attack } from '../attack.ts';

export interface Aims {
  /** Event loop time of one request or connection. */
  readonly loopMs: number;
  readonly memoryMiB: number;
  /** How long another client may wait. */
  readonly blockMs: number;
}

const mebibyte = 1024 * 1024;
const blockMs = 250;
const stranger = { loopMs: 20, memoryMiB: 2, blockMs };

export function aimsOf({ by, bytes = 0, memoryMiBMax }: Attack): Aims {
  if (by === 'stranger') return stranger;
  const memoryMiB = memoryMiBMax ?? (4 * bytes) / mebibyte + 32;
  return { loopMs: Number.POSITIVE_INFINITY, memoryMiB, blockMs };
}

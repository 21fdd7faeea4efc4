import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config/config.ts';
import type { ByteLimits } from '../transports/byte-budget.ts';

/** Share of the memory. Parsed requests are larger than their bytes, and the rest of the program needs memory as well. */
const partOfMemory = 1 / 4;
const partOfAddress = 1 / 4;
/** Minimum, enough for a few of the largest requests on any machine. */
const bytesMin = 64 * 1_048_576;

/** The limits of request bodies in memory, with defaults that fit this process. */
export function byteLimits({
  bufferedBytesMax,
  bufferedBytesPerAddressMax,
  bufferWaitMsMax,
}: Config['limits']): ByteLimits {
  const bytesMax = bufferedBytesMax ?? atLeast(bytesMin, usableBytes() * partOfMemory);
  const ofAddress = bufferedBytesPerAddressMax ?? atLeast(bytesMin, bytesMax * partOfAddress);
  return { bytesMax, bytesPerAddressMax: Math.min(bytesMax, ofAddress), waitMsMax: bufferWaitMsMax };
}

/** Memory that the process may use: the smallest of machine, cgroup and V8's heap. */
function usableBytes(): number {
  // 0, or more than the machine has, if there is no such limit.
  const constrained = process.constrainedMemory() || Infinity;
  return Math.min(totalmem(), constrained, getHeapStatistics().heap_size_limit);
}

function atLeast(least: number, bytes: number): number {
  return Math.max(least, Math.floor(bytes));
}

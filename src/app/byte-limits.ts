import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config/config.ts';
import type { ByteLimits } from '../transports/byte-budget.ts';

/** Parsed requests are larger than their bytes, and the rest of the program needs memory as well. */
const partOfMemory = 1 / 4;
const partOfAddress = 1 / 4;
/** Holds a few of the largest requests, however little memory there is. */
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

/** The least of what the machine has, what its cgroup allows, and what V8 takes for its heap. */
function usableBytes(): number {
  // 0, or more than the machine has, where there is no such limit.
  const constrained = process.constrainedMemory() || Infinity;
  return Math.min(totalmem(), constrained, getHeapStatistics().heap_size_limit);
}

function atLeast(least: number, bytes: number): number {
  return Math.max(least, Math.floor(bytes));
}

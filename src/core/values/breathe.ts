import { setImmediate } from 'node:timers/promises';

const largeBytes = 131_072;

/** Lets other requests run between two steps of work on a large request. Undefined for a small one. */
export function breathe(requestBytes: number): Promise<void> | undefined {
  return requestBytes > largeBytes ? setImmediate() : undefined;
}

import { setImmediate } from 'node:timers/promises';

const largeBytes = 131_072;

/** Lets other requests run between two steps of work on a large request. */
export async function breathe(requestBytes: number): Promise<void> {
  if (requestBytes > largeBytes) await setImmediate();
}

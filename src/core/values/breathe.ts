import { setImmediate } from 'node:timers/promises';

const largeBytes = 131_072;

/** Between two steps of work on a large request, lets other requests go first. */
export async function breathe(requestBytes: number): Promise<void> {
  if (requestBytes > largeBytes) await setImmediate();
}

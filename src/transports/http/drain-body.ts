import type { Readable } from 'node:stream';

/** How long the rest of a refused body is read. Clients read the answer only after they have sent the body. */
const drainMsMax = 5_000;

/** Reads and discards the rest of a body. Destroys the connection or stream if it takes too long. */
export function drainBody(request: Readable & { readonly complete: boolean }): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), drainMsMax);
  request.once('close', () => clearTimeout(timer));
  request.resume();
}

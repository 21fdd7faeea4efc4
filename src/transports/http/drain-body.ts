import type { Readable } from 'node:stream';

/** How long the rest of a refused body is drained, so that its client gets to read the answer. */
const drainMsMax = 5_000;

/** Reads away what is left of a body that nobody wants; after a while the connection or stream is destroyed. */
export function drainBody(request: Readable & { readonly complete: boolean }): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), drainMsMax);
  request.once('close', () => clearTimeout(timer));
  request.resume();
}

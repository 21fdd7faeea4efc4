import { ParleyError } from '../core/values/errors.ts';
import type { Signal } from '../core/values/signal.ts';

interface Writable {
  readonly destroyed: boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/**
 * Resolves when a slow client can receive more. The port limits how long a client may go without reading.
 * @throws `request_cancelled` when the client leaves, or is still too slow when the deadline passes: what was sent is
 * charged
 */
export function drained(writable: Writable, signal: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => () => {
      writable.off('drain', onDrain);
      writable.off('close', onLeft);
      signal.removeEventListener('abort', onLeft);
      then();
    };
    const onDrain = settle(resolve);
    const onLeft = settle(() => reject(new ParleyError('request_cancelled')));
    writable.once('drain', onDrain);
    writable.once('close', onLeft);
    signal.addEventListener('abort', onLeft);
    if (writable.destroyed || signal.aborted) onLeft();
  });
}

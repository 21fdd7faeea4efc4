import type { Client } from '../core/access/gate.ts';
import { ParleyError } from '../core/values/errors.ts';

/**
 * Concurrent calls of health and reflection, and requests for files of the reference, on a connection. Clients need a
 * few.
 */
const keylessCallsMax = 24;
const retryAfterSeconds = 1;

const running = new WeakMap<Client, number>();

/**
 * Counts a call that needs no key. The clients of a trusted proxy are not counted together.
 * @returns a function that ends the call
 * @throws `rate_limit_exceeded` if too many run on the connection
 */
export function beginKeylessCall(client: Client): () => void {
  const calls = running.get(client) ?? 0;
  if (calls >= keylessCallsMax) {
    throw new ParleyError('rate_limit_exceeded', {
      message: `More than ${keylessCallsMax} calls without a key run on this connection. Wait until one ends.`,
      retryAfterSeconds,
    });
  }
  running.set(client, calls + 1);
  return () => running.set(client, (running.get(client) ?? 1) - 1);
}

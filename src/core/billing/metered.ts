/** Runs operations and ends their records: success settles, an error voids. */
import { ParleyError, toParleyError } from '../values/errors.ts';
import type { Signal } from '../values/signal.ts';
import type { Metering } from './metering.ts';

/** The part of a call that the end of its record needs. */
interface MeteredCall {
  readonly metering: Metering;
  readonly signal: Signal;
}

/**
 * Runs an operation with one answer and ends its record: success settles it, an error voids it. A client that left before the answer
 * was ready pays nothing. When the promise resolves, the settlement is durable.
 */
export async function metered<T>({ metering, signal }: MeteredCall, run: () => Promise<T>): Promise<T> {
  try {
    const answer = await run();
    signal.throwIfAborted();
    if (!metering.hasEnded) await metering.settle();
    return answer;
  } catch (thrown) {
    throw await voided({ metering, signal }, thrown);
  }
}

/** Runs a part of an operation; an error voids its record. */
export async function orVoid<C extends MeteredCall, T>(call: C, run: (call: C) => Promise<T>): Promise<T> {
  try {
    return await run(call);
  } catch (thrown) {
    throw await voided(call, thrown);
  }
}

/**
 * As `metered`, for an operation that streams its answer. A source that must settle before its last part does so; otherwise the record is
 * settled here, before the end is signalled. A consumer that returns early is a client that left: the
 * source's `finally` runs first, then the record is written.
 *
 * @param isOutput whether the client has received output once it has this part
 */
export async function* meteredParts<T>(
  { metering, signal }: MeteredCall,
  source: AsyncIterable<T>,
  isOutput: (part: T) => boolean,
): AsyncGenerator<T, void, undefined> {
  let hasLeft = true;
  metering.willStream();
  try {
    for await (const part of source) {
      signal.throwIfAborted();
      if (!metering.hasOutput) {
        if (isOutput(part)) await metering.beginOutput();
        else await metering.whenStarted();
      }
      yield part;
    }
    hasLeft = false;
    if (!metering.hasEnded) await metering.settle();
  } catch (thrown) {
    hasLeft = false;
    throw await voided({ metering, signal }, thrown);
  } finally {
    if (hasLeft) await metering.void(new ParleyError('request_cancelled'));
  }
}

/** Voids the record with the client's error: the reason of the abort if the request was aborted. */
async function voided({ metering, signal }: MeteredCall, thrown: unknown): Promise<ParleyError> {
  const error = toParleyError(signal.aborted ? signal.reason : thrown);
  await metering.void(error);
  return error;
}

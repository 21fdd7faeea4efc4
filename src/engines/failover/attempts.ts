/** Passes a request to the next engine, but only if the one before cannot have begun it. */

import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';

/** Requests that engines work on now. */
const running = new WeakMap<object, number>();

export function runningOn(engine: object): number {
  return running.get(engine) ?? 0;
}

/** @returns ends the count of this request */
function countOn(engine: object): () => void {
  running.set(engine, runningOn(engine) + 1);
  return () => void running.set(engine, runningOn(engine) - 1);
}

/** The answer of the first engine that succeeds; if all fail, the last error. */
export async function firstAnswer<E extends object, Answer>(
  engines: readonly E[],
  signal: Signal,
  ask: (engine: E) => Promise<Answer>,
): Promise<Answer> {
  let failure = new ParleyError('engine_unavailable');
  for (const engine of engines) {
    const end = countOn(engine);
    try {
      return await ask(engine);
    } catch (error) {
      failure = unlessItMayHaveRun(error, signal);
    } finally {
      end();
    }
  }
  throw failure;
}

/**
 * Like `firstAnswer`, for an answer in parts. After the first part with output no other engine is tried.
 * @param isOutput Default: every part is output.
 */
export async function* firstStream<E extends object, Part>(
  engines: readonly E[],
  signal: Signal,
  ask: (engine: E) => AsyncIterable<Part>,
  isOutput: (part: Part) => boolean = () => true,
): AsyncGenerator<Part, void, undefined> {
  let failure = new ParleyError('engine_unavailable');
  for (const engine of engines) {
    let hasOutput = false;
    const end = countOn(engine);
    try {
      for await (const part of ask(engine)) {
        hasOutput ||= isOutput(part);
        yield part;
      }
      return;
    } catch (error) {
      if (hasOutput) throw error;
      failure = unlessItMayHaveRun(error, signal);
    } finally {
      end();
    }
  }
  throw failure;
}

/** Returns the error if another engine may be tried, else throws it. */
function unlessItMayHaveRun(error: unknown, signal: Signal): ParleyError {
  const failure = toParleyError(error);
  if (signal.aborted || !failure.hasNotRun) throw error;
  return failure;
}

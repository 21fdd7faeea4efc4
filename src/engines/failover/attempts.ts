/** Passes a request to the next engine, but only if the one before cannot have begun it. */

import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';

/** The answer of the first engine that succeeds; if all fail, the last error. */
export async function firstAnswer<E, Answer>(
  engines: readonly E[],
  signal: Signal,
  ask: (engine: E) => Promise<Answer>,
): Promise<Answer> {
  let failure = new ParleyError('engine_unavailable');
  for (const engine of engines) {
    try {
      return await ask(engine);
    } catch (error) {
      failure = unlessItMayHaveRun(error, signal);
    }
  }
  throw failure;
}

/**
 * Like `firstAnswer`, for an answer in parts. After the first part with output no other engine is tried.
 * @param isOutput Default: every part is output.
 */
export async function* firstStream<E, Part>(
  engines: readonly E[],
  signal: Signal,
  ask: (engine: E) => AsyncIterable<Part>,
  isOutput: (part: Part) => boolean = () => true,
): AsyncGenerator<Part, void, undefined> {
  let failure = new ParleyError('engine_unavailable');
  for (const engine of engines) {
    let hasOutput = false;
    try {
      for await (const part of ask(engine)) {
        hasOutput ||= isOutput(part);
        yield part;
      }
      return;
    } catch (error) {
      if (hasOutput) throw error;
      failure = unlessItMayHaveRun(error, signal);
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

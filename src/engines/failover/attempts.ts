/** Gives a request to the next engine in line, but only where the one before cannot have begun with it. */
import { ParleyError, toParleyError } from '../../core/errors.ts';

/** The answer of the first engine that gives one; where all fail, the error of the last. */
export async function firstAnswer<E, Answer>(
  line: readonly E[],
  signal: AbortSignal,
  ask: (engine: E) => Promise<Answer>,
): Promise<Answer> {
  let failure = new ParleyError('engine_unavailable');
  for (const engine of line) {
    try {
      return await ask(engine);
    } catch (error) {
      failure = unlessItMayHaveRun(error, signal);
    }
  }
  throw failure;
}

/**
 * The same for an answer in parts. After one of which `isOutput` holds, no other engine is asked.
 * @param isOutput Default: it holds of every part.
 */
export async function* firstStream<E, Part>(
  line: readonly E[],
  signal: AbortSignal,
  ask: (engine: E) => AsyncIterable<Part>,
  isOutput: (part: Part) => boolean = () => true,
): AsyncGenerator<Part, void, undefined> {
  let failure = new ParleyError('engine_unavailable');
  for (const engine of line) {
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

/** Returns an error after which another engine may be asked, and throws any other. */
function unlessItMayHaveRun(error: unknown, signal: AbortSignal): ParleyError {
  const failure = toParleyError(error);
  if (signal.aborted || !failure.hasNotRun) throw error;
  return failure;
}

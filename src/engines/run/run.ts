/**
 * Runs a request on the engines of a model, counted and timed on each. The next engine is tried only if the one before
 * cannot have begun the request.
 */
import type { Engine } from '../../core/entities/engine.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Candidate } from './model-engines.ts';

/** The answer of the first engine that succeeds; if all fail, the last error. */
export async function runAnswer<E extends Engine, Answer>(
  candidates: readonly Candidate<E>[],
  signal: Signal,
  ask: (engine: E) => Promise<Answer>,
): Promise<Answer> {
  let failure: ParleyError | undefined;
  for (const candidate of candidates) {
    const attempt = candidate.counts.begin(candidate.model, signal.attempts);
    try {
      const answer = await ask(candidate.engine);
      attempt.succeed();
      return answer;
    } catch (error) {
      attempt.fail(error);
      failure = unlessItMayHaveRun(error, signal);
    }
  }
  throw failure ?? new ParleyError('engine_unavailable');
}

/** Returns the error if another engine may be tried, else throws it. */
function unlessItMayHaveRun(error: unknown, signal: Signal): ParleyError {
  const failure = toParleyError(error);
  if (signal.aborted || !failure.hasNotRun) throw error;
  return failure;
}

interface StreamRules<Part> {
  /** Whether no other engine may be tried after this part. Default: after every part. */
  readonly isOutput?: (part: Part) => boolean;
  /** Whether the answer is complete with this part. Default: it is complete when the stream ends. */
  readonly isLast?: (part: Part) => boolean;
}

/** Like `runAnswer`, for an answer in parts. Begins with the first read. */
export async function* runStream<E extends Engine, Part>(
  candidates: readonly Candidate<E>[],
  signal: Signal,
  ask: (engine: E) => AsyncIterable<Part>,
  { isOutput = () => true, isLast }: StreamRules<Part> = {},
): AsyncGenerator<Part, undefined, undefined> {
  let failure: ParleyError | undefined;
  for (const candidate of candidates) {
    const attempt = candidate.counts.begin(candidate.model, signal.attempts);
    let hasOutput = false;
    let isComplete = false;
    try {
      for await (const part of ask(candidate.engine)) {
        if (isOutput(part)) {
          attempt.noteOutput();
          hasOutput = true;
        }
        isComplete ||= isLast?.(part) === true;
        yield part;
      }
      if (isComplete || isLast === undefined) attempt.succeed();
      else attempt.fail(incomplete());
      return;
    } catch (error) {
      attempt.fail(error);
      if (hasOutput) throw error;
      failure = unlessItMayHaveRun(error, signal);
    } finally {
      // For a reader that has left. The first of the ends counts.
      if (isComplete) attempt.succeed();
      else attempt.cancel();
    }
  }
  throw failure ?? new ParleyError('engine_unavailable');
}

function incomplete(): ParleyError {
  return new ParleyError('upstream_error', { cause: new Error('the answer is incomplete'), hasRun: true });
}

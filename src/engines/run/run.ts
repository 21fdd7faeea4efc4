/**
 * Runs a request on the engines of a model, counted and timed on each. The next engine is tried only if the one before
 * cannot have begun the request.
 */
import type { Engine } from '../../core/entities/engine.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Attempt } from './engine-counts.ts';
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
export class RunStream<E extends Engine, Part> implements AsyncIterableIterator<Part, undefined, undefined> {
  readonly #candidates: readonly Candidate<E>[];
  readonly #signal: Signal;
  readonly #ask: (engine: E) => AsyncIterable<Part>;
  readonly #rules: StreamRules<Part>;
  #tried = 0;
  #attempt: Attempt | undefined;
  #parts: AsyncIterator<Part> | undefined;
  #hasOutput = false;
  #isComplete = false;
  #isLeft = false;

  constructor(
    candidates: readonly Candidate<E>[],
    signal: Signal,
    ask: (engine: E) => AsyncIterable<Part>,
    rules: StreamRules<Part> = {},
  ) {
    this.#candidates = candidates;
    this.#signal = signal;
    this.#ask = ask;
    this.#rules = rules;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Part, undefined>> {
    if (this.#isLeft) return { done: true, value: undefined };
    let failure: ParleyError | undefined;
    for (; this.#tried < this.#candidates.length; this.#tried++) {
      try {
        const parts = this.#parts ?? this.#begin();
        return this.#note(await parts.next());
      } catch (error) {
        this.#attempt?.fail(error);
        this.#parts = undefined;
        if (this.#hasOutput) throw error;
        failure = unlessItMayHaveRun(error, this.#signal);
      }
    }
    throw failure ?? new ParleyError('engine_unavailable');
  }

  async return(): Promise<IteratorResult<Part, undefined>> {
    if (this.#isComplete) this.#attempt?.succeed();
    else this.#attempt?.cancel();
    this.#isLeft = true;
    await this.#parts?.return?.();
    return { done: true, value: undefined };
  }

  #begin(): AsyncIterator<Part> {
    const candidate = this.#candidates[this.#tried];
    if (candidate === undefined) throw new Error('there is no other engine');
    this.#attempt = candidate.counts.begin(candidate.model, this.#signal.attempts);
    this.#parts = this.#ask(candidate.engine)[Symbol.asyncIterator]();
    return this.#parts;
  }

  #note(result: IteratorResult<Part, undefined>): IteratorResult<Part, undefined> {
    const { isOutput, isLast } = this.#rules;
    if (!result.done) {
      const isOut = isOutput === undefined || isOutput(result.value);
      if (isOut) this.#attempt?.noteOutput();
      this.#hasOutput ||= isOut;
      this.#isComplete ||= isLast?.(result.value) ?? false;
    } else if (this.#isComplete || isLast === undefined) {
      this.#attempt?.succeed();
    } else {
      this.#attempt?.fail(
        new ParleyError('upstream_error', { cause: new Error('the answer is incomplete'), hasRun: true }),
      );
    }
    return result;
  }
}

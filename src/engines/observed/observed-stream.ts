import { ParleyError } from '../../core/values/errors.ts';
import type { ObservedRequest } from './observed-requests.ts';

interface StreamRules<Part> {
  /** Default: every part is output. */
  readonly isOutput?: (part: Part) => boolean;
  /** Whether the answer is complete with this part. Default: it is complete when the stream ends. */
  readonly isLast?: (part: Part) => boolean;
}

/** Passes a stream on as it is. Its request begins with the first read. */
export class ObservedStream<Part> implements AsyncIterableIterator<Part, undefined, undefined> {
  readonly #parts: AsyncIterator<Part>;
  readonly #begin: () => ObservedRequest;
  readonly #rules: StreamRules<Part>;
  #request: ObservedRequest | undefined;
  #isComplete = false;

  constructor(stream: AsyncIterable<Part>, begin: () => ObservedRequest, rules: StreamRules<Part> = {}) {
    this.#parts = stream[Symbol.asyncIterator]();
    this.#begin = begin;
    this.#rules = rules;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Part, undefined>> {
    this.#request ??= this.#begin();
    const request = this.#request;
    const step = this.#parts.next();
    step.then(
      (result) => this.#note(request, result),
      (error) => request.fail(error),
    );
    return step;
  }

  async return(): Promise<IteratorResult<Part, undefined>> {
    if (this.#isComplete) this.#request?.succeed();
    else this.#request?.cancel();
    await this.#parts.return?.();
    return { done: true, value: undefined };
  }

  #note(request: ObservedRequest, { done, value }: IteratorResult<Part, undefined>): void {
    const { isOutput, isLast } = this.#rules;
    if (!done) {
      if (isOutput === undefined || isOutput(value)) request.hasOutput();
      this.#isComplete ||= isLast?.(value) ?? false;
    } else if (this.#isComplete || isLast === undefined) {
      request.succeed();
    } else {
      request.fail(new ParleyError('upstream_error', { cause: new Error('the answer is incomplete') }));
    }
  }
}

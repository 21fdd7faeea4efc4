/** A chat that runs: on the model that was asked for, and on another one if that fails before any output. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Call } from '../access/call.ts';
import type { TokenBounds } from '../billing/token-report.ts';
import type { ChatAnswer, ChatChunk } from '../entities/chat-answer.ts';
import type { ChatModel } from '../entities/model.ts';
import type { Batches } from '../values/batches.ts';
import { type ParleyError, toParleyError } from '../values/errors.ts';
import { isObject } from '../values/json.ts';
import type { Price } from '../values/money.ts';
import type { Signal } from '../values/signal.ts';
import { systemFirst } from './chat-messages.ts';
import { isReason, type Runnable } from './fallback.ts';
import type { HoldPlan } from './hold.ts';
import { setOutputLimit, takeChoices, takeLimit } from './output-limit.ts';

/** Converts the request of another API for a model. */
export type ParamsFor = (model: ChatModel) => ChatCompletionParams;

interface JobOptions {
  /** The model that was asked for, which may not be one of those that are planned. */
  readonly asked: ChatModel;
  readonly params: ChatCompletionParams;
  /** Default: all models get the same parameters. */
  readonly paramsFor: ParamsFor | undefined;
  readonly call: Call;
}

export class ChatJob {
  readonly call: Call;
  /** Those of the model that runs. */
  params: ChatCompletionParams;
  #running: HoldPlan;
  readonly #others: HoldPlan[];
  readonly #asked: ChatModel;
  readonly #paramsFor: ParamsFor | undefined;
  readonly #failures: ParleyError[] = [];

  /** Sets the limit of the answer in `params`. */
  constructor([first, ...others]: Runnable, { asked, params, paramsFor, call }: JobOptions) {
    this.call = call;
    this.params = params;
    this.#asked = asked;
    this.#paramsFor = paramsFor ?? (others.length > 0 ? keptParams(params) : undefined);
    this.#running = first;
    this.#others = others;
    if (first.model === asked) setOutputLimit(params, first.outputLimit);
    else this.#run(first);
  }

  get model(): ChatModel {
    return this.#running.model;
  }

  get price(): Price {
    return this.#running.price;
  }

  /** The most tokens that the model that runs can report. */
  get bounds(): TokenBounds {
    const { outputLimit, contextTokens: promptTokens } = this.#running;
    return { promptTokens, completionTokens: outputLimit * (this.params.n ?? 1) };
  }

  async complete(): Promise<ChatAnswer> {
    for (;;) {
      try {
        return await this.model.engine.complete(this.params, this.call.signal);
      } catch (error) {
        this.#fallBack(error);
      }
    }
  }

  stream(signal: Signal): Batches<ChatChunk> {
    const isAlone = this.#others.length === 0;
    return isAlone ? this.model.engine.stream(this.params, signal) : this.#streamFirst(signal);
  }

  async *#streamFirst(signal: Signal): AsyncGenerator<readonly ChatChunk[]> {
    let hasOutput = false;
    for (;;) {
      try {
        for await (const chunks of this.model.engine.stream(this.params, signal)) {
          hasOutput ||= chunks.length > 0;
          yield chunks;
        }
        return;
      } catch (error) {
        if (hasOutput) throw error;
        this.#fallBack(error);
      }
    }
  }

  /**
   * Goes on to the next model.
   * @throws the error, or that of an earlier model, if none may answer instead: one after which an upstream has run, else the first
   */
  #fallBack(thrown: unknown): void {
    if (this.call.signal.aborted) throw thrown;
    const error = toParleyError(thrown);
    this.#failures.push(error);
    const next = isReason(error, this.#asked.fallback?.on) ? this.#others.shift() : undefined;
    if (next === undefined) {
      if (this.#failures.length > 1) this.call.metering.noteAnswering(undefined);
      throw this.#failures.find(({ hasRun }) => hasRun) ?? this.#failures[0];
    }
    this.#run(next);
  }

  #run(next: HoldPlan): void {
    const { model, outputLimit } = next;
    this.#running = next;
    const params = this.#paramsFor?.(model) ?? this.params;
    takeChoices(params);
    takeLimit(params);
    if (model.systemMessages === 'one-first') params.messages = systemFirst(params.messages);
    setOutputLimit(params, outputLimit);
    this.params = params;
    this.call.metering.noteAnswering(model.id);
  }
}

/** The same parameters for each model, without the changes that the limit of another one has made. */
function keptParams(params: ChatCompletionParams): ParamsFor {
  const copyOf = (other: JsonObject = {}): JsonObject => {
    const { thinking } = other;
    return isObject(thinking) ? { ...other, thinking: { ...thinking } } : { ...other };
  };
  const given = copyOf(params.other);
  return () => Object.assign(params, { other: copyOf(given) });
}

import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ChatCompletionSchema,
  type CreateChatCompletionRequest,
  CreateChatCompletionResponseSchema,
  type StreamChatCompletionRequest,
  type Usage,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Call } from '../access/call.ts';
import { isPossible, largerTokens, ReportWarnings, readReport, usageOf } from '../billing/token-report.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { type AnswerHead, type ChatAnswer, type ChatChunk, messageAnswer } from '../entities/chat-answer.ts';
import { type ChatOutput, promptText } from '../entities/chat-output.ts';
import type { Guard, TokenCounter } from '../entities/engine.ts';
import type { LedgerStore } from '../entities/ledger.ts';
import type { ChatModel } from '../entities/model.ts';
import type { TokenUsage } from '../entities/usage.ts';
import { type AnswerForm, type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { affordableCredits } from '../limits/affordable.ts';
import { isNews } from '../values/batches.ts';
import type { Clock } from '../values/clock.ts';
import { toParleyError } from '../values/errors.ts';
import { isObject } from '../values/json.ts';
import type { Labels } from '../values/labels.ts';
import type { Log } from '../values/log.ts';
import { cost, nanoCredits, nanoCreditsMax } from '../values/money.ts';
import { OwnSignal, type Signal } from '../values/signal.ts';
import { breathe, type Soon } from '../values/soon.ts';
import { systemFirst } from './chat-messages.ts';
import { checkChatParams, checkWhole } from './checks.ts';
import { DetachableChunks, hasLeft } from './detached-chunks.ts';
import { planAll, promptsFor, type Runnable } from './fallback.ts';
import { ChatJob, type ParamsFor } from './job.ts';
import { takeLimit } from './output-limit.ts';
import { referencesOf } from './references.ts';
import { StreamedAnswer, withUsage } from './streamed-answer.ts';

/** Attempts to reserve while other requests compete for the credits, budgets and tokens. */
const holdAttemptsMax = 5;
const unlimited = affordableCredits(nanoCredits(nanoCreditsMax));

/** Idempotency records store answers as messages, whatever form the engine sent. */
const responseForm = messageForm(CreateChatCompletionResponseSchema);
const keptForm: AnswerForm<ChatAnswer> = {
  toBytes: ({ message: completion }) =>
    responseForm.toBytes(create(CreateChatCompletionResponseSchema, { completion })),
  fromBytes: (bytes) =>
    messageAnswer(responseForm.fromBytes(bytes).completion ?? create(ChatCompletionSchema)),
};

interface StreamOptions {
  /** Whether the text leaves with its speech: then the caller notes the first output. Default: false. */
  readonly isSpoken?: boolean;
  readonly paramsFor?: ParamsFor;
}

export interface ChatDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly tokens: TokenCounter;
  readonly ledger: Pick<LedgerStore, 'available'>;
  readonly idempotency: Idempotency;
  /** How often a stream that waits for its engine has an empty batch. */
  readonly streamPingMs: number;
  /** Default: nobody is asked. */
  readonly guard?: Guard | undefined;
}

export class ChatOperations {
  readonly #deps: ChatDeps;
  readonly #warnings: ReportWarnings;

  constructor(deps: ChatDeps) {
    this.#deps = deps;
    this.#warnings = new ReportWarnings(deps.log, deps.clock);
  }

  createChatCompletion(request: CreateChatCompletionRequest, call: Call): Promise<ChatAnswer> {
    call.metering.noteModel(request.params?.model);
    const repeatable = { answerForm: keptForm, request, call };
    return this.#deps.idempotency.run(repeatable, () => this.complete(request.params, call));
  }

  /** Settles before the last chunk. A client that leaves after some output pays for the tokens produced until then. */
  streamChatCompletion(
    request: StreamChatCompletionRequest,
    call: Call,
  ): AsyncGenerator<readonly ChatChunk[]> {
    call.metering.noteModel(request.params?.model);
    return this.stream(request.params, call);
  }

  modelOf(id = ''): ChatModel | undefined {
    return this.#deps.catalog.chatModel(id);
  }

  /**
   * Runs a chat for any RPC: holds, answers, and meters. Changes `params`.
   * @param paramsFor converts the request again for a model that answers in place of the first one. Default: `params` are sent
   */
  async complete(
    params: ChatCompletionParams | undefined,
    call: Call,
    paramsFor?: ParamsFor,
  ): Promise<ChatAnswer> {
    const job = await this.#begin(params, call, paramsFor);
    const answer = await job.complete();
    checkWhole(answer);
    answer.setHead(headOf(job, 'chat.completion'));
    const metered = this.#meter(job, answer.takeUsage(), answer.output);
    answer.setUsage(metered instanceof Promise ? await metered : metered);
    return answer;
  }

  /** Counts the tokens of a prompt, up to the model's context, without running it. Checks `params` as a chat does. */
  async countPrompt(params: ChatCompletionParams, call: Call): Promise<number> {
    const { id, engine, contextTokens: tokensMax } = checkChatParams(params, this.#deps.catalog);
    call.caller.limits?.checkModel(id);
    try {
      if (engine.countPrompt) return await engine.countPrompt(params, call.signal);
    } catch (error) {
      // A server of the Messages API need not count.
      if (toParleyError(error).httpStatus !== 404) throw error;
    }
    return this.#deps.tokens.count(promptText(params), { signal: call.signal, tokensMax });
  }

  /** The same as a stream. Settles before the last chunk, which has the usage unless the client wants it apart. */
  async *stream(
    params: ChatCompletionParams | undefined,
    call: Call,
    { isSpoken = false, paramsFor }: StreamOptions = {},
  ): AsyncGenerator<readonly ChatChunk[]> {
    const job = await this.#begin(params, call, paramsFor);
    const answer = new StreamedAnswer(() => headOf(job, 'chat.completion.chunk'));
    const source = new DetachableChunks((signal) => job.stream(signal), call.signal, this.#deps.streamPingMs);
    if (referencesOf(job.params).length > 0) source.detach();
    call.cutShort = (reason) => (call.metering.hasOutput ? source.cutShort(reason) : undefined);
    let failure: unknown;
    try {
      for await (const chunks of source.whileAwaited()) {
        const ready = answer.take(chunks);
        if (answer.isOpaque) source.detach();
        if (!isSpoken && ready.some(({ output }) => output.hasOutput)) await call.metering.beginOutput();
        if (isNews(ready, chunks)) yield ready;
      }
      const last = answer.finish();
      const usage = await this.#meter(job, answer.usage, answer);
      await call.metering.settle();
      yield withUsage(last, usage, job.params.streamOptions?.includeUsage === true);
    } catch (error) {
      failure = error;
      if (!toParleyError(error).isTimeLimit || call.signal.aborted || !call.metering.hasOutput) throw error;
      yield await this.#endCut(job, answer, source);
    } finally {
      const isGone = call.signal.aborted ? hasLeft(call.signal) : failure === undefined;
      const isCut = call.metering.used.tokens === undefined && answer.hasOutput;
      if (isCut) await this.#meterCut(job, answer, isGone ? source : undefined);
      await source.close();
    }
  }

  /** Charges an answer that a time limit of the server cut short after some output. @returns its last chunks */
  async #endCut(job: ChatJob, answer: StreamedAnswer, source: DetachableChunks): Promise<ChatChunk[]> {
    const last = answer.finish(true);
    const tokens = await this.#meterCut(job, answer, source);
    await job.call.metering.settle('deadline_exceeded');
    const usage = usageOf(tokens, tokens.source === 'reported' ? answer.usage : undefined);
    return withUsage(last, usage, job.params.streamOptions?.includeUsage === true);
  }

  /**
   * Records the tokens of a truncated answer: the larger of the last report and our own count. Where prompt or answer cannot be
   * counted here, the answer is read on for a report after the client has left.
   */
  async #meterCut(job: ChatJob, answer: StreamedAnswer, left?: DetachableChunks): Promise<TokenUsage> {
    const { hasOutput } = job.call.metering;
    const isUnknown = answer.usage === undefined || answer.isOpaque;
    if (hasOutput && isUnknown) await left?.readOn((chunks) => answer.take(chunks));
    // The count continues after the client, who pays for it, has left.
    const signal = new OwnSignal();
    signal.owner = job.call.signal.owner;
    const counted = await this.#count(job, answer, signal);
    // A report from before the end may have no output tokens yet.
    const tokens = largerTokens(
      this.#warnings.believed(job, readReport(answer.usage, false), counted),
      counted,
    );
    noteTokens(job, tokens);
    return tokens;
  }

  async #begin(
    params = create(ChatCompletionParamsSchema),
    call: Call,
    paramsFor: ParamsFor | undefined,
  ): Promise<ChatJob> {
    call.metering.noteLabels(labelsOf(params));
    const pause = breathe(call.requestBytes);
    if (pause) await pause;
    const { guard, catalog } = this.#deps;
    const asked = checkChatParams(params, catalog);
    if (asked.systemMessages === 'one-first') params.messages = systemFirst(params.messages);
    if (guard) await guard.check(guarded(asked.id, params, call), call.signal);
    const planned = await this.#reserve(asked, params, call);
    const another = breathe(call.requestBytes);
    if (another) await another;
    return new ChatJob(planned, { asked, params, paramsFor, call });
  }

  /** Holds what the dearest of the models can cost. @returns the models that can run, at least one */
  async #reserve(asked: ChatModel, params: ChatCompletionParams, call: Call): Promise<Runnable> {
    const { catalog, tokens, ledger } = this.#deps;
    const prompts = promptsFor(asked, catalog, { params, requestedLimit: takeLimit(params), call, tokens });
    // Tries the largest hold first: usually the credits cover it, so they need not be read. Between reading them and
    // the next attempt, other requests may take the rest.
    let affordable = unlimited;
    for (let attempt = 1; ; attempt++) {
      const planning = planAll(prompts, affordable, attempt > 1);
      const planned = planning instanceof Promise ? await planning : planning;
      const { metering } = call;
      const shortage = await metering.reserve(reservationOf(planned));
      if (shortage === undefined) return planned;
      affordable = await metering.affordable(await ledger.available(call.caller.account.id));
      if (attempt === holdAttemptsMax) throw metering.errorOf(shortage);
    }
  }

  /** Records the tokens and the cost, from the model's report, or counted here if the report is missing or impossible. */
  #meter(job: ChatJob, usage: Usage | undefined, answer: ChatOutput): Soon<Usage> {
    const reported = readReport(usage, answer.hasOutput);
    if (reported === undefined || !isPossible(reported, job.bounds)) {
      return this.#meterCounted(job, usage, reported, answer);
    }
    noteTokens(job, reported);
    return usageOf(reported, usage);
  }

  async #meterCounted(
    job: ChatJob,
    usage: Usage | undefined,
    reported: TokenUsage | undefined,
    answer: ChatOutput,
  ): Promise<Usage> {
    const counted = await this.#count(job, answer, job.call.signal);
    const tokens = this.#warnings.believed(job, reported, counted) ?? counted;
    noteTokens(job, tokens);
    // Drops the details of an impossible report.
    return usageOf(tokens, tokens.source === 'reported' ? usage : undefined);
  }

  async #count({ params, model }: ChatJob, answer: ChatOutput, signal: Signal): Promise<TokenUsage> {
    const { tokens } = this.#deps;
    const { contextTokens } = model;
    const [prompt, output] = await Promise.all([
      tokens.count(promptText(params), { signal, tokensMax: contextTokens }),
      tokens.count(answer.text, { signal }),
    ]);
    const promptTokens = Math.min(prompt, contextTokens);
    // Audio and images have tokens, too.
    const completionTokens = Math.max(output, answer.hasOutput ? 1 : 0);
    return {
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
      source: 'estimated',
    };
  }
}

/** Some clients send `tags` as a list, which the schema of `metadata` does not have. */
function labelsOf({ user, safetyIdentifier, metadata, other }: ChatCompletionParams): Labels {
  const lists = other?.['metadata'];
  return { endUser: safetyIdentifier || user, tags: metadata['tags'] ?? (isObject(lists) && lists['tags']) };
}

function guarded(
  model: string,
  { messages }: ChatCompletionParams,
  { id: requestId, caller: { keyId, keyName, account } }: Call,
) {
  const facts = { account: { id: account.id, name: account.name }, key: { id: keyId, name: keyName } };
  return { requestId, ...facts, model, messages };
}

/** Defaults for members that an engine omits. */
function headOf({ model, call }: ChatJob, object: AnswerHead['object']): AnswerHead {
  const id = `chatcmpl-${call.id.slice(4)}`;
  return { id, object, created: Math.floor(call.startedAtMs / 1000), model: model.id };
}

/** The most of all models. The record keeps the price of the first one. */
function reservationOf(planned: Runnable) {
  const [{ price }] = planned;
  let { amount, tokens } = planned[0];
  for (const plan of planned) {
    if (plan.amount > amount) amount = plan.amount;
    tokens = Math.max(tokens, plan.tokens);
  }
  return { hold: { amount, price }, tokens };
}

function noteTokens({ price, call: { metering } }: ChatJob, tokens: TokenUsage): void {
  metering.used.tokens = tokens;
  metering.used.cost = cost(price, tokens);
}

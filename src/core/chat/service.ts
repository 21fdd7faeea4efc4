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
import { isPossible, largerTokens, readReport, type TokenBounds, usageOf } from '../billing/token-report.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { type AnswerHead, type ChatAnswer, type ChatChunk, messageAnswer } from '../entities/chat-answer.ts';
import type { ChatOutput } from '../entities/chat-output.ts';
import { promptText } from '../entities/chat-text.ts';
import type { TokenCounter } from '../entities/engine.ts';
import type { Guard } from '../entities/guard.ts';
import type { LedgerStore } from '../entities/ledger.ts';
import type { ChatModel } from '../entities/model.ts';
import type { TokenUsage } from '../entities/usage.ts';
import { type AnswerForm, type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { affordableCredits } from '../limits/affordable.ts';
import { isNews } from '../values/batches.ts';
import { breathe } from '../values/breathe.ts';
import type { Clock } from '../values/clock.ts';
import { toParleyError } from '../values/errors.ts';
import type { Log } from '../values/log.ts';
import { cost, nanoCredits, nanoCreditsMax } from '../values/money.ts';
import { OwnSignal, type Signal } from '../values/signal.ts';
import type { Soon } from '../values/soon.ts';
import { systemFirst } from './chat-messages.ts';
import { checkChatParams, checkWhole } from './checks.ts';
import { DetachableChunks, hasLeft } from './detached-chunks.ts';
import { planHold } from './hold.ts';
import { setOutputLimit } from './output-limit.ts';
import { PromptFacts } from './prompt-facts.ts';
import { refersElsewhere } from './references.ts';
import { ReportWarnings } from './report-warnings.ts';
import { StreamedAnswer, withUsage } from './streamed-answer.ts';

/** Attempts to reserve while other requests compete for the credits, budgets and tokens. */
const holdAttemptsMax = 5;

/** Idempotency records store answers as messages, whatever form the engine sent. */
const responseForm = messageForm(CreateChatCompletionResponseSchema);
const keptForm: AnswerForm<ChatAnswer> = {
  toBytes: ({ message: completion }) =>
    responseForm.toBytes(create(CreateChatCompletionResponseSchema, { completion })),
  fromBytes: (bytes) =>
    messageAnswer(responseForm.fromBytes(bytes).completion ?? create(ChatCompletionSchema)),
};

interface ChatJob {
  readonly model: ChatModel;
  readonly params: ChatCompletionParams;
  readonly call: Call;
  readonly bounds: TokenBounds;
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

/** Implements ChatService. */
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

  /** The model of that id, if there is one. */
  modelOf(id = ''): ChatModel | undefined {
    return this.#deps.catalog.chatModel(id);
  }

  /** Runs a chat for any RPC: holds, answers, and meters. Changes `params`. */
  async complete(params: ChatCompletionParams | undefined, call: Call): Promise<ChatAnswer> {
    const job = await this.#begin(params, call);
    const answer = await job.model.engine.complete(job.params, call.signal);
    checkWhole(answer);
    answer.setHead(headOf(job, 'chat.completion'));
    const metered = this.#meter(job, answer.takeUsage(), answer);
    answer.setUsage(metered instanceof Promise ? await metered : metered);
    return answer;
  }

  /** Counts the tokens of a prompt, up to the model's context, without running it. Checks `params` as a chat does. */
  async countPrompt(params: ChatCompletionParams, call: Call): Promise<number> {
    const { id, contextTokens: tokensMax } = checkChatParams(params, this.#deps.catalog);
    call.caller.limits?.checkModel(id);
    return this.#deps.tokens.count(promptText(params), { signal: call.signal, tokensMax });
  }

  /**
   * The same as a stream. Settles before the last chunk, which has the usage unless the client wants it apart.
   * @param isSpoken whether the text leaves with its speech: then the caller notes the first output
   */
  async *stream(
    params: ChatCompletionParams | undefined,
    call: Call,
    isSpoken = false,
  ): AsyncGenerator<readonly ChatChunk[]> {
    const job = await this.#begin(params, call);
    const answer = new StreamedAnswer(headOf(job, 'chat.completion.chunk'));
    const source = new DetachableChunks(
      (signal) => job.model.engine.stream(job.params, signal),
      call.signal,
      this.#deps.streamPingMs,
    );
    if (refersElsewhere(job.params)) source.detach();
    call.cutShort = (reason) => (call.metering.hasOutput ? source.cutShort(reason) : undefined);
    let failure: unknown;
    try {
      for await (const chunks of source.whileAwaited()) {
        const ready = answer.take(chunks);
        if (answer.isOpaque) source.detach();
        if (!isSpoken && ready.some(({ hasOutput }) => hasOutput)) await call.metering.beginOutput();
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
    if (hasOutput && answer.usage === undefined) await left?.readOn((chunks) => answer.take(chunks));
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

  async #begin(params = create(ChatCompletionParamsSchema), call: Call): Promise<ChatJob> {
    const pause = breathe(call.requestBytes);
    if (pause) await pause;
    const model = checkChatParams(params, this.#deps.catalog);
    if (model.systemMessages === 'one-first') params.messages = systemFirst(params.messages);
    const { guard } = this.#deps;
    if (guard) await guard.check(guarded(model.id, params, call), call.signal);
    const facts = this.#factsOf(model, params, call);
    // Tries the largest hold first: usually the credits cover it, so they need not be read. Between reading them and
    // the next attempt, other requests may take the rest.
    let affordable = affordableCredits(nanoCredits(nanoCreditsMax));
    for (let attempt = 1; ; attempt++) {
      const planning = planHold(facts, affordable);
      const plan = planning instanceof Promise ? await planning : planning;
      const hold = { amount: plan.amount, price: model.price };
      const shortage = await call.metering.reserve({ hold, tokens: plan.tokens });
      if (shortage === undefined) {
        setOutputLimit(params, plan.outputLimit);
        const another = breathe(call.requestBytes);
        if (another) await another;
        const completionTokens = plan.outputLimit * (params.n ?? 1);
        return { model, params, call, bounds: { promptTokens: model.contextTokens, completionTokens } };
      }
      const available = await this.#deps.ledger.available(call.caller.account.id);
      affordable = await call.metering.affordable(available);
      if (attempt === holdAttemptsMax) throw call.metering.errorOf(shortage);
    }
  }

  #factsOf(model: ChatModel, params: ChatCompletionParams, call: Call): PromptFacts {
    // Every prompt longer than the context is refused in the same way, so its exact length does not matter.
    const bounds = { signal: call.signal, tokensMax: model.contextTokens, mayBeRefused: true };
    const count = (text: string) => this.#deps.tokens.count(text, bounds);
    return new PromptFacts(model, params, call.requestBytes, count);
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

function noteTokens({ model, call: { metering } }: ChatJob, tokens: TokenUsage): void {
  metering.used.tokens = tokens;
  metering.used.cost = cost(model.price, tokens);
}

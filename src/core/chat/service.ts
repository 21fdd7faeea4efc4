import { create, toJsonString } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ChatCompletionSchema,
  type CreateChatCompletionRequest,
  CreateChatCompletionResponseSchema,
  type StreamChatCompletionRequest,
  type Usage,
  UsageSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { planHold } from '../billing/hold.ts';
import { type AnswerForm, type Idempotency, messageForm } from '../billing/idempotency.ts';
import { cost, nanoCredits, nanoCreditsMax } from '../billing/money.ts';
import { readReport } from '../billing/token-report.ts';
import type { Call } from '../call.ts';
import type { Catalog, ChatModel } from '../catalog/catalog.ts';
import { ParleyError } from '../errors.ts';
import type { TokenCounter } from '../ports/engines.ts';
import type { Store } from '../ports/store.ts';
import type { TokenUsage } from '../ports/usage.ts';
import { type ChatAnswer, type ChatChunk, messageAnswer } from './answer.ts';
import { checkChatParams, checkWhole } from './checks.ts';
import { StreamedAnswer, withUsage } from './streamed-answer.ts';
import { promptText } from './text.ts';

/** How often a hold is planned anew while other requests of the account take its credits. */
const holdAttemptsMax = 5;

/** Answers are kept as messages, whatever form they had. */
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
}

export interface ChatDeps {
  readonly catalog: Catalog;
  readonly tokens: TokenCounter;
  readonly accounts: Pick<Store, 'availableCredits'>;
  readonly idempotency: Idempotency;
}

/** Implements ChatService. */
export class ChatOperations {
  readonly #deps: ChatDeps;

  constructor(deps: ChatDeps) {
    this.#deps = deps;
  }

  createChatCompletion(request: CreateChatCompletionRequest, call: Call): Promise<ChatAnswer> {
    noteModel(request.params, call);
    const repeatable = { answerForm: keptForm, request, call };
    return this.#deps.idempotency.run(repeatable, () => this.#complete(request, call));
  }

  /** Settles before the last chunk. A client that leaves after some output pays for the tokens produced until then. */
  streamChatCompletion(
    request: StreamChatCompletionRequest,
    call: Call,
  ): AsyncGenerator<readonly ChatChunk[]> {
    noteModel(request.params, call);
    return this.#stream(request, call);
  }

  async #complete(request: CreateChatCompletionRequest, call: Call): Promise<ChatAnswer> {
    const job = await this.#reserve(request.params, call);
    const answer = await job.model.engine.complete(job.params, call.signal);
    checkWhole(answer);
    answer.setModel(job.model.id);
    answer.setUsage(await this.#meter(job, answer.takeUsage(), answer.text));
    return answer;
  }

  async *#stream(request: StreamChatCompletionRequest, call: Call): AsyncGenerator<readonly ChatChunk[]> {
    const job = await this.#reserve(request.params, call);
    const answer = new StreamedAnswer(job.model.id);
    try {
      for await (const chunks of job.model.engine.stream(job.params, call.signal)) {
        const ready = answer.take(chunks);
        if (ready.length > 0) yield ready;
      }
      const last = answer.finish();
      const usage = await this.#meter(job, answer.usage, answer.text);
      await call.metering.settle();
      yield withUsage(last, usage, job.params.streamOptions?.includeUsage === true);
    } finally {
      // A report from before the end is of a part only: what was produced until now is counted here.
      if (call.metering.used.tokens === undefined && answer.text !== '') {
        await this.#meter(job, undefined, answer.text);
      }
    }
  }

  async #reserve(params = create(ChatCompletionParamsSchema), call: Call): Promise<ChatJob> {
    const model = checkChatParams(params, this.#deps.catalog);
    const countPrompt = () => this.#deps.tokens.count(toJsonString(ChatCompletionParamsSchema, params));
    const facts = { model, params, requestBytes: call.requestBytes, countPrompt };
    // Nearly always the credits cover all that the answer can cost, and the hold itself tells: only then are they looked at. Others may
    // take credits between that look and the next hold.
    let available = nanoCredits(nanoCreditsMax);
    for (let attempt = 0; attempt < holdAttemptsMax; attempt++) {
      const plan = await planHold(facts, available);
      const hold = { amount: plan.amount, price: model.price };
      if (await call.metering.reserve({ model: model.id, hold })) {
        limitOutput(params, plan.outputLimit);
        return { model, params, call };
      }
      available = await this.#deps.accounts.availableCredits(call.caller.account.id);
    }
    throw new ParleyError('insufficient_credits');
  }

  /** Notes what the answer used, as the model reports it or else as it is counted here, for its record and its usage block. */
  async #meter({ model, params, call }: ChatJob, usage: Usage | undefined, text: string): Promise<Usage> {
    const reported = readReport(usage, text);
    const tokens = reported ?? (await this.#count(params, text));
    call.metering.used.tokens = tokens;
    call.metering.used.cost = cost(model.price, tokens);
    const { promptTokens, completionTokens, totalTokens } = tokens;
    // Details of a report that cannot be true are not passed on either.
    const details = reported && usage;
    return create(UsageSchema, { ...details, promptTokens, completionTokens, totalTokens });
  }

  async #count(params: ChatCompletionParams, answer: string): Promise<TokenUsage> {
    const [promptTokens, completionTokens] = await Promise.all([
      this.#deps.tokens.count(promptText(params)),
      this.#deps.tokens.count(answer),
    ]);
    return {
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
      source: 'estimated',
    };
  }
}

/** What was asked for is recorded whatever becomes of it. */
function noteModel(params: ChatCompletionParams | undefined, { metering }: Call): void {
  if (params?.model) metering.note({ model: params.model });
}

/** Tells the model the limit under the name that the client used. */
function limitOutput(params: ChatCompletionParams, limit: number | undefined): void {
  if (limit === undefined) return;
  if (params.maxCompletionTokens !== undefined) params.maxCompletionTokens = limit;
  if (params.maxTokens !== undefined || params.maxCompletionTokens === undefined) params.maxTokens = limit;
}

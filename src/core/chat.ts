import { create, toJsonString } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  type CreateChatCompletionRequest,
  type CreateChatCompletionResponse,
  CreateChatCompletionResponseSchema,
  type StreamChatCompletionRequest,
  type StreamChatCompletionResponse,
  StreamChatCompletionResponseSchema,
  type Usage,
  UsageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import type { Call } from './call.ts';
import type { Catalog, ChatModel } from './catalog.ts';
import { checkChatParams, checkWhole } from './chat-checks.ts';
import { planHold } from './chat-hold.ts';
import { chunkText, completionText, promptText } from './chat-text.ts';
import { ParleyError } from './errors.ts';
import type { Idempotency } from './idempotency.ts';
import { metered, meteredParts } from './metering.ts';
import { cost } from './money.ts';
import type { TokenCounter } from './ports/engines.ts';
import type { Store, TokenUsage } from './ports/store.ts';
import { StreamedAnswer, withUsage } from './streamed-answer.ts';
import { readReport } from './token-report.ts';

/** How often a hold is planned anew while other requests of the account take its credits. */
const holdAttemptsMax = 5;

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

/** What ChatService does. */
export class ChatOperations {
  readonly #deps: ChatDeps;

  constructor(deps: ChatDeps) {
    this.#deps = deps;
  }

  createChatCompletion(
    request: CreateChatCompletionRequest,
    call: Call,
  ): Promise<CreateChatCompletionResponse> {
    noteModel(request.params, call);
    const repeatable = { answerSchema: CreateChatCompletionResponseSchema, request, call };
    return metered(call.metering, call.signal, () =>
      this.#deps.idempotency.run(repeatable, () => this.#complete(request, call)),
    );
  }

  streamChatCompletion(
    request: StreamChatCompletionRequest,
    call: Call,
  ): AsyncGenerator<StreamChatCompletionResponse> {
    noteModel(request.params, call);
    return meteredParts(call.metering, call.signal, this.#stream(request, call), isOutput);
  }

  async #complete(request: CreateChatCompletionRequest, call: Call): Promise<CreateChatCompletionResponse> {
    const job = await this.#admit(request.params, call);
    const completion = await job.model.engine.complete(job.params, call.signal);
    checkWhole(completion);
    completion.model = job.model.id;
    completion.usage = await this.#meter(job, completion.usage, completionText(completion));
    return create(CreateChatCompletionResponseSchema, { completion });
  }

  async *#stream(
    request: StreamChatCompletionRequest,
    call: Call,
  ): AsyncGenerator<StreamChatCompletionResponse> {
    const job = await this.#admit(request.params, call);
    const answer = new StreamedAnswer();
    try {
      for await (const chunk of job.model.engine.stream(job.params, call.signal)) {
        chunk.model = job.model.id;
        for (const ready of answer.take(chunk)) yield toResponse(ready);
      }
      const last = answer.finish();
      const usage = await this.#meter(job, answer.usage, answer.text);
      await call.metering.settle();
      for (const chunk of withUsage(last, usage, job.params.streamOptions?.includeUsage === true)) {
        yield toResponse(chunk);
      }
    } finally {
      // A report from before the end is of a part only: what was produced until now is counted here.
      if (call.metering.used.tokens === undefined && answer.text !== '') {
        await this.#meter(job, undefined, answer.text);
      }
    }
  }

  async #admit(params = create(ChatCompletionParamsSchema), call: Call): Promise<ChatJob> {
    const model = checkChatParams(params, this.#deps.catalog);
    const countPrompt = () => this.#deps.tokens.count(toJsonString(ChatCompletionParamsSchema, params));
    const facts = { model, params, requestBytes: call.requestBytes, countPrompt };
    // Others may take credits between the look at them and the hold.
    for (let attempt = 0; attempt < holdAttemptsMax; attempt++) {
      const available = await this.#deps.accounts.availableCredits(call.caller.account.id);
      const plan = await planHold(facts, available);
      const hold = { amount: plan.amount, price: model.price };
      if (await call.metering.admit({ model: model.id, hold })) {
        limitOutput(params, plan.outputLimit);
        return { model, params, call };
      }
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

function isOutput({ chunk }: StreamChatCompletionResponse): boolean {
  return chunk !== undefined && chunkText(chunk) !== '';
}

function toResponse(chunk: ChatCompletionChunk): StreamChatCompletionResponse {
  return create(StreamChatCompletionResponseSchema, { chunk });
}

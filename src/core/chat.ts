import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
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
import { checkChatParams } from './chat-checks.ts';
import { chunkText, completionText, promptText } from './chat-text.ts';
import { ParleyError } from './errors.ts';
import { metered, meteredParts } from './metering.ts';
import { cost } from './money.ts';
import type { TokenCounter } from './ports/engines.ts';
import type { TokenUsage } from './ports/store.ts';

interface ChatJob {
  readonly model: ChatModel;
  readonly params: ChatCompletionParams;
  readonly call: Call;
}

/** What ChatService does. */
export class ChatOperations {
  readonly #catalog: Catalog;
  readonly #tokens: TokenCounter;

  constructor(catalog: Catalog, tokens: TokenCounter) {
    this.#catalog = catalog;
    this.#tokens = tokens;
  }

  createChatCompletion(
    request: CreateChatCompletionRequest,
    call: Call,
  ): Promise<CreateChatCompletionResponse> {
    return metered(call.metering, call.signal, async () => {
      const job = await this.#admit(request.params, call);
      const completion = await job.model.engine.complete(job.params, call.signal);
      completion.model = job.model.id;
      completion.usage = await this.#meter(job, completion.usage, () => completionText(completion));
      return create(CreateChatCompletionResponseSchema, { completion });
    });
  }

  streamChatCompletion(
    request: StreamChatCompletionRequest,
    call: Call,
  ): AsyncGenerator<StreamChatCompletionResponse> {
    return meteredParts(call.metering, call.signal, this.#stream(request, call), isOutput);
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
      const usage = await this.#meter(job, answer.usage, () => answer.text);
      await call.metering.settle();
      for (const chunk of withUsage(last, usage, job.params.streamOptions?.includeUsage === true)) {
        yield toResponse(chunk);
      }
    } finally {
      if (!call.metering.hasEnded && answer.text !== '') {
        await this.#meter(job, answer.usage, () => answer.text);
      }
    }
  }

  async #admit(params = create(ChatCompletionParamsSchema), call: Call): Promise<ChatJob> {
    if (params.model) call.metering.note({ model: params.model });
    const model = checkChatParams(params, this.#catalog);
    await call.metering.admit({ model: model.id });
    return { model, params, call };
  }

  /** Notes what the answer used, as the model reports it or else as it is counted here, for its record and its usage block. */
  async #meter(
    { model, params, call }: ChatJob,
    reported: Usage | undefined,
    text: () => string,
  ): Promise<Usage> {
    const tokens = readReport(reported) ?? (await this.#count(params, text()));
    call.metering.used.tokens = tokens;
    call.metering.used.cost = cost(model.price, tokens);
    const { promptTokens, completionTokens, totalTokens } = tokens;
    return create(UsageSchema, { ...reported, promptTokens, completionTokens, totalTokens });
  }

  async #count(params: ChatCompletionParams, answer: string): Promise<TokenUsage> {
    const [promptTokens, completionTokens] = await Promise.all([
      this.#tokens.count(promptText(params.messages)),
      this.#tokens.count(answer),
    ]);
    return {
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
      source: 'estimated',
    };
  }
}

/**
 * An answer as its chunks come in. Chunks leave as they arrive, but for the last with a finish reason: it waits until
 * the answer's usage is known and settled.
 */
class StreamedAnswer {
  #pieces: string[] = [];
  #held: ChatCompletionChunk | undefined;
  readonly #unfinished = new Set<number>();
  usage: Usage | undefined;

  get text(): string {
    return this.#pieces.join('');
  }

  *take(chunk: ChatCompletionChunk): Generator<ChatCompletionChunk> {
    this.usage = chunk.usage ?? this.usage;
    delete chunk.usage;
    if (chunk.choices.length === 0) return;
    const text = chunkText(chunk);
    if (text !== '') this.#pieces.push(text);
    for (const { index } of chunk.choices) this.#unfinished.add(index);
    const finished = chunk.choices.filter(({ finishReason }) => finishReason !== undefined);
    for (const { index } of finished) this.#unfinished.delete(index);
    if (this.#held) yield this.#held;
    this.#held = finished.length > 0 ? chunk : undefined;
    if (this.#held === undefined) yield chunk;
  }

  /** The last chunk. @throws `upstream_error` where a choice never got its finish reason: a truncation, not a success. */
  finish(): ChatCompletionChunk {
    if (this.#held === undefined || this.#unfinished.size > 0) throw new ParleyError('upstream_error');
    return this.#held;
  }
}

/** The last chunk with the usage on it, or followed by a chunk of its own, as the client asked. */
function withUsage(last: ChatCompletionChunk, usage: Usage, apart: boolean): ChatCompletionChunk[] {
  if (!apart) return [{ ...last, usage }];
  const { id, object, created, model } = last;
  return [last, create(ChatCompletionChunkSchema, { id, object, created, model, usage })];
}

/** A report that cannot be true, with a negative count, counts as none. */
function readReport(usage: Usage | undefined): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  const { promptTokens, totalTokens } = usage;
  const completionTokens = Math.max(usage.completionTokens, totalTokens - promptTokens);
  if (promptTokens < 0 || usage.completionTokens < 0 || promptTokens + completionTokens === 0)
    return undefined;
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, source: 'reported' };
}

function isOutput({ chunk }: StreamChatCompletionResponse): boolean {
  return chunk !== undefined && chunkText(chunk) !== '';
}

function toResponse(chunk: ChatCompletionChunk): StreamChatCompletionResponse {
  return create(StreamChatCompletionResponseSchema, { chunk });
}

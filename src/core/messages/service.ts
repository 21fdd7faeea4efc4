import { create } from '@bufbuild/protobuf';
import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import {
  type CountMessageTokensRequest,
  type CountMessageTokensResponse,
  CountMessageTokensResponseSchema,
  type CreateMessageRequest,
  type CreateMessageResponse,
  CreateMessageResponseSchema,
  type MessageEvent,
  type MessageParams,
  MessageParamsSchema,
  type StreamMessageRequest,
} from '../../../gen/parley/messages/v1/messages_pb.ts';
import type { Call } from '../access/call.ts';
import { asChunk } from '../chat/answer-as-chunk.ts';
import { type ChatOperations, noteModel } from '../chat/service.ts';
import { type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { isNews } from '../values/batches.ts';
import { breathe } from '../values/breathe.ts';
import { MessageAnswer } from './answer.ts';
import { toChatParams } from './chat-params.ts';

export interface MessageDeps {
  readonly chat: ChatOperations;
  readonly idempotency: Idempotency;
}

const answerForm = messageForm(CreateMessageResponseSchema);

/** Implements MessagesService: each request is a chat, and is metered like one. */
export class MessageOperations {
  readonly #deps: MessageDeps;

  constructor(deps: MessageDeps) {
    this.#deps = deps;
  }

  createMessage(request: CreateMessageRequest, call: Call): Promise<CreateMessageResponse> {
    noteModel(request.params, call);
    const repeatable = { answerForm, request, call };
    return this.#deps.idempotency.run(repeatable, () => this.#create(request.params, call));
  }

  /** Settles before the events that end the answer. */
  streamMessage(request: StreamMessageRequest, call: Call): AsyncGenerator<readonly MessageEvent[]> {
    noteModel(request.params, call);
    return this.#stream(request.params, call);
  }

  async countMessageTokens(
    { params = create(MessageParamsSchema) }: CountMessageTokensRequest,
    call: Call,
  ): Promise<CountMessageTokensResponse> {
    noteModel(params, call);
    await breathe(call.requestBytes);
    const inputTokens = await this.#deps.chat.countPrompt(toChatParams(params), call);
    return create(CountMessageTokensResponseSchema, { tokens: { inputTokens } });
  }

  #toChat(params: MessageParams): ChatCompletionParams {
    return toChatParams(params, this.#deps.chat.thinkingOf(params.model));
  }

  async #create(params = create(MessageParamsSchema), call: Call): Promise<CreateMessageResponse> {
    await breathe(call.requestBytes);
    const answer = new MessageAnswer(params, call);
    answer.take([asChunk(await this.#deps.chat.complete(this.#toChat(params), call))]);
    return create(CreateMessageResponseSchema, { message: answer.whole() });
  }

  async *#stream(params = create(MessageParamsSchema), call: Call): AsyncGenerator<readonly MessageEvent[]> {
    await breathe(call.requestBytes);
    const answer = new MessageAnswer(params, call);
    for await (const chunks of this.#deps.chat.stream(this.#toChat(params), call)) {
      const events = answer.take(chunks.map(({ message }) => message));
      if (isNews(events, chunks)) yield events;
    }
    yield answer.finish();
  }
}

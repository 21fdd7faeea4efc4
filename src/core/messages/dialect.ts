import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ChatCompletionChunk, Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/messages/v1/messages_pb.ts';
import type { Call } from '../access/call.ts';
import type { AnswerBuilder, Dialect } from '../chat/dialect.ts';
import type { AnswerReasoning } from '../chat/reasoning.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import { parsedObject } from '../values/json.ts';
import { Blocks } from './blocks.ts';
import { droppedTools, toChatParams } from './chat-params.ts';

export const messages: Dialect<pb.MessageParams, pb.MessageEvent, pb.CreateMessageResponse> = {
  form: messageForm(pb.CreateMessageResponseSchema),
  toChat: toChatParams,
  labelsOf: ({ metadata = {} }) => {
    const { user_id: user, tags } = metadata;
    return { endUser: typeof user === 'string' ? withoutSession(user) : undefined, tags };
  },
  droppedTools,
  build: (...built) => new MessageAnswer(...built),
};

/** A longer text is a name as it is. */
const namesLengthMax = 10_000;

/**
 * Claude Code names its device, its account and its session, as `user_…_account_…_session_…` or as JSON. A session is no
 * end user.
 * @returns the same name for both forms; any other name as it is
 */
function withoutSession(user: string): string {
  const [, name] = /^(user_[^_]+_account_[^_]*)_session_/.exec(user) ?? [];
  return name ?? nameInJson(user) ?? user;
}

function nameInJson(text: string): string | undefined {
  if (!text.startsWith('{') || text.length > namesLengthMax) return undefined;
  const { device_id: device, account_uuid: account, session_id: session } = parsedObject(text) ?? {};
  const isKnown = typeof device === 'string' && typeof account === 'string' && typeof session === 'string';
  return isKnown ? `user_${device}_account_${account}` : undefined;
}

/** Builds the answer from the chunks of a chat. */
export class MessageAnswer implements AnswerBuilder<pb.CreateMessageResponse> {
  readonly #head: pb.Message;
  readonly #blocks: Blocks;
  readonly #emit: (event: pb.MessageEvent) => void;
  readonly #reasoning: AnswerReasoning;
  readonly #stopSequences: readonly string[];
  #isRefusal = false;
  #choice: number | undefined;
  #finishReason = '';
  /** The stop sequence that ended the answer, if the upstream names it. */
  #stopSequence: string | undefined;
  #usage: Usage | undefined;

  constructor(
    params: pb.MessageParams,
    call: Pick<Call, 'id'>,
    emit: (event: pb.MessageEvent) => void,
    reasoning: AnswerReasoning,
  ) {
    const { model = '', stopSequences } = params;
    this.#emit = emit;
    this.#reasoning = reasoning;
    this.#stopSequences = stopSequences;
    const id = call.id.replace(/^req_/, '');
    this.#head = create(pb.MessageSchema, {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model,
      usage: {},
      parleyDroppedTools: droppedTools(params) || undefined,
    });
    this.#blocks = new Blocks(`toolu_${id}`, reasoning, (event) => this.#add(event));
  }

  begin(model: string): void {
    this.#head.model = model;
    this.#add({ type: 'message_start', message: this.#head });
  }

  /** The last events have the stop reason and the usage. */
  finish(): void {
    this.#blocks.close();
    const { usage, ...delta } = this.#end();
    this.#add({ type: 'message_delta', delta, usage });
    this.#add({ type: 'message_stop' });
  }

  /** The whole answer. @throws `upstream_error` for a call whose arguments are not a JSON object */
  whole(chunk: ChatCompletionChunk): pb.CreateMessageResponse {
    this.take(chunk);
    const content = this.#blocks.whole(this.#finishReason === 'length');
    return create(pb.CreateMessageResponseSchema, { message: { ...this.#head, ...this.#end(), content } });
  }

  /** A chat of this API has one choice. Some servers count from 1. */
  take({ choices, usage, model }: ChatCompletionChunk): void {
    this.#reasoning.model = model;
    this.#head.model = model || this.#head.model;
    this.#usage = usage ?? this.#usage;
    for (const { index, delta, finishReason, other } of choices) {
      this.#choice ??= index;
      if (index !== this.#choice) continue;
      if (delta) this.#blocks.take(delta);
      this.#isRefusal ||= Boolean(delta?.refusal);
      this.#finishReason = finishReason || this.#finishReason;
      // vLLM and SGLang have the sequence here, or the number of a token.
      const named = [other?.['stop_reason'], other?.['matched_stop']];
      this.#stopSequence ??= this.#stopSequences.find((sequence) => named.includes(sequence));
    }
  }

  #end(): { stopReason: string; stopSequence: string | undefined; usage: pb.MessageUsage } {
    const stopReason = this.#stopReason();
    const stopSequence = stopReason === 'stop_sequence' ? this.#stopSequence : undefined;
    return { stopReason, stopSequence, usage: usageOf(this.#usage) };
  }

  /** Some servers end an answer with calls by the reason `stop`. */
  #stopReason(): string {
    if (this.#finishReason === 'length') return 'max_tokens';
    if (this.#isRefusal || this.#finishReason === 'content_filter') return 'refusal';
    if (this.#blocks.hasCalls) return 'tool_use';
    return this.#stopSequence === undefined ? 'end_turn' : 'stop_sequence';
  }

  #add(event: MessageInitShape<typeof pb.MessageEventSchema>): void {
    this.#emit(create(pb.MessageEventSchema, event));
  }
}

/** The cached tokens of this API are not among its input tokens. */
function usageOf({ promptTokens = 0, completionTokens = 0, promptTokensDetails }: Partial<Usage> = {}) {
  const { cachedTokens = 0, cacheWriteTokens = 0 } = promptTokensDetails ?? {};
  return create(pb.MessageUsageSchema, {
    inputTokens: promptTokens - cachedTokens - cacheWriteTokens,
    outputTokens: completionTokens,
    cacheReadInputTokens: cachedTokens,
    cacheCreationInputTokens: cacheWriteTokens,
  });
}

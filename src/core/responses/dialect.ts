import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ChatCompletionChunk, Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { Call } from '../access/call.ts';
import type { AnswerBuilder, Dialect } from '../chat/dialect.ts';
import type { AnswerReasoning } from '../chat/reasoning.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import { ParleyError } from '../values/errors.ts';
import { toChatParams } from './chat-params.ts';
import { Output } from './output.ts';
import { Tools } from './tools.ts';

export const responses: Dialect<pb.ResponseParams, pb.ResponseEvent, pb.CreateResponseResponse> = {
  form: messageForm(pb.CreateResponseResponseSchema),
  toChat: (params, _, open) => toChatParams(params, open),
  build: (...built) => new ResponseAnswer(...built),
  labelsOf: ({ metadata }) => ({ tags: metadata['tags'] }),
  droppedTools: ({ tools }) => Tools.of(tools).dropped,
  /** The error of a prompt that is too long names the field that contains it. */
  errorOf(error) {
    if (!(error instanceof ParleyError)) return error;
    const { code, message, cause, param = '' } = error;
    if (code === 'context_length_exceeded') return new ParleyError(code, { message, cause, param: 'input' });
    return code === 'invalid_messages'
      ? new ParleyError('invalid_input', {
          message,
          param: /^(input\[|instructions$)/.test(param) ? param : 'input',
        })
      : error;
  },
};

/** Why an answer is incomplete, by the chat's finish reason. All other reasons complete it. */
const incompleteReasons: ReadonlyMap<string, string> = new Map([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

/** Builds the answer from the chunks of a chat. */
export class ResponseAnswer implements AnswerBuilder<pb.CreateResponseResponse> {
  readonly #head: pb.Response;
  readonly #output: Output;
  readonly #reasoning: AnswerReasoning;
  readonly #emit: (event: pb.ResponseEvent) => void;
  #sequence = 0;
  #choice: number | undefined;
  #finishReason = '';
  #usage: Usage | undefined;
  #serviceTier: string | undefined;

  constructor(
    params: pb.ResponseParams,
    call: Pick<Call, 'id' | 'startedAtMs'>,
    emit: (event: pb.ResponseEvent) => void,
    reasoning: AnswerReasoning,
  ) {
    this.#emit = emit;
    this.#reasoning = reasoning;
    const id = call.id.replace(/^req_/, '');
    const tools = Tools.of(params.tools);
    this.#head = headOf(params, id, call.startedAtMs);
    if (tools.dropped !== '') this.#head.metadata['parley_dropped_tools'] = tools.dropped;
    this.#output = new Output(id, tools, reasoning, (event) => this.#add(event));
  }

  begin(model: string): void {
    this.#head.model = model;
    for (const type of ['response.created', 'response.in_progress']) {
      this.#add({ type, response: this.#response({ status: 'in_progress' }) });
    }
  }

  /** The last event has the whole answer. */
  finish(): void {
    const response = this.#end();
    this.#add({ type: `response.${response.status}`, response });
  }

  #end(): pb.Response {
    const reason = incompleteReasons.get(this.#finishReason);
    const status = reason === undefined ? 'completed' : 'incomplete';
    this.#output.close(status);
    const incompleteDetails =
      reason === undefined ? undefined : create(pb.IncompleteDetailsSchema, { reason });
    const usage = this.#usage && usageOf(this.#usage);
    return this.#response({ status, incompleteDetails, usage });
  }

  whole(chunk: ChatCompletionChunk): pb.CreateResponseResponse {
    this.take(chunk);
    return create(pb.CreateResponseResponseSchema, { response: this.#end() });
  }

  /** The last event of a failed answer. Omits open items, as a truncated call must not be run. */
  fail(error: ParleyError): void {
    const response = this.#response({
      status: 'failed',
      output: this.#output.items.filter(({ status }) => status === 'completed'),
      error: create(pb.ResponseErrorSchema, {
        code: failureCode(error),
        message: error.message,
        reason: error.code,
      }),
    });
    this.#add({ type: 'response.failed', response });
  }

  /** A chat of this API has one choice. Some servers count from 1. */
  take({ choices, usage, serviceTier, model }: ChatCompletionChunk): void {
    this.#reasoning.model = model;
    this.#head.model = model || this.#head.model;
    this.#usage = usage ?? this.#usage;
    this.#serviceTier = serviceTier ?? this.#serviceTier;
    for (const { index, delta, logprobs, finishReason } of choices) {
      this.#choice ??= index;
      if (index !== this.#choice) continue;
      if (delta) this.#output.take(delta, logprobs?.content ?? []);
      this.#finishReason = finishReason || this.#finishReason;
    }
  }

  #add(event: MessageInitShape<typeof pb.ResponseEventSchema>): void {
    this.#emit(create(pb.ResponseEventSchema, { ...event, sequenceNumber: this.#sequence++ }));
  }

  #response(state: Partial<pb.Response>): pb.Response {
    const output = [...this.#output.items];
    return { ...this.#head, serviceTier: this.#serviceTier, output, ...state };
  }
}

function headOf(params: pb.ResponseParams, id: string, startedAtMs: number): pb.Response {
  const auto = { kind: { case: 'stringValue', value: 'auto' } } as const;
  return create(pb.ResponseSchema, {
    id: `resp_${id}`,
    object: 'response',
    createdAt: BigInt(Math.floor(startedAtMs / 1000)),
    model: params.model ?? '',
    instructions: params.instructions,
    metadata: { ...params.metadata },
    tools: params.tools,
    reasoning: params.reasoning,
    temperature: params.temperature,
    topP: params.topP,
    topLogprobs: params.topLogprobs,
    maxOutputTokens: params.maxOutputTokens,
    user: params.user,
    safetyIdentifier: params.safetyIdentifier,
    promptCacheKey: params.promptCacheKey,
    toolChoice: params.toolChoice ?? auto,
    parallelToolCalls: params.parallelToolCalls ?? true,
    text: { verbosity: params.text?.verbosity, format: params.text?.format ?? { type: 'text' } },
    truncation: 'disabled',
  });
}

function usageOf(usage: Usage): pb.ResponseUsage {
  const { promptTokens, completionTokens, totalTokens, promptTokensDetails, completionTokensDetails } = usage;
  return create(pb.ResponseUsageSchema, {
    inputTokens: promptTokens,
    inputTokensDetails: {
      cachedTokens: promptTokensDetails?.cachedTokens ?? 0,
      cacheWriteTokens: promptTokensDetails?.cacheWriteTokens ?? 0,
    },
    outputTokens: completionTokens,
    outputTokensDetails: { reasoningTokens: completionTokensDetails?.reasoningTokens ?? 0 },
    totalTokens,
  });
}

function failureCode({ httpStatus }: ParleyError): string {
  if (httpStatus === 429) return 'rate_limit_exceeded';
  return httpStatus >= 500 ? 'server_error' : 'invalid_prompt';
}

/** The legacy form: one prompt, and answers of text alone. */
import { create } from '@bufbuild/protobuf';
import * as chat from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/completions/v1/completions_pb.ts';
import type { Call } from '../access/call.ts';
import { pieceOf } from '../chat/answer-pieces.ts';
import type { AnswerBuilder, Dialect } from '../chat/dialect.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import { ParleyError } from '../values/errors.ts';
import { invalid, invalidInput } from '../values/parameters.ts';

export const completions: Dialect<pb.CompletionParams, pb.Completion, pb.CreateCompletionResponse> = {
  form: messageForm(pb.CreateCompletionResponseSchema),
  toChat: toChatParams,
  build: (_, call, emit) => new CompletionAnswer(call, emit),
};

class CompletionAnswer implements AnswerBuilder<pb.CreateCompletionResponse> {
  readonly #call: Pick<Call, 'id' | 'startedAtMs'>;
  readonly #emit: (piece: pb.Completion) => void;

  constructor(call: Pick<Call, 'id' | 'startedAtMs'>, emit: (piece: pb.Completion) => void) {
    this.#call = call;
    this.#emit = emit;
  }

  take(chunk: chat.ChatCompletionChunk): void {
    const piece = this.#completion(chunk);
    piece.choices = piece.choices.filter(({ text, finishReason }) => text !== '' || finishReason);
    if (piece.choices.length > 0 || piece.usage) this.#emit(piece);
  }

  whole(chunk: chat.ChatCompletionChunk): pb.CreateCompletionResponse {
    return create(pb.CreateCompletionResponseSchema, { completion: this.#completion(chunk) });
  }

  #completion({ model, usage, choices }: chat.ChatCompletionChunk): pb.Completion {
    const { id, startedAtMs } = this.#call;
    return create(pb.CompletionSchema, {
      id: id.replace(/^req_/, 'cmpl-'),
      object: 'text_completion',
      created: BigInt(Math.floor(startedAtMs / 1000)),
      choices: choices.map(({ index, delta, finishReason }) => ({
        index,
        text: delta ? pieceOf(delta).text + (delta.refusal ?? '') : '',
        finishReason,
      })),
      model,
      usage,
    });
  }
}

/** @throws `missing_input`, `invalid_input`, `invalid_parameter` */
function toChatParams(params: pb.CompletionParams): chat.ChatCompletionParams {
  const { $typeName: _, $unknown: __, prompt, suffix, echo, bestOf, logprobs, other, ...shared } = params;
  const value = textOf(prompt);
  if (suffix) throw refused('suffix', 'Put the whole text into `prompt`.');
  if (echo) throw refused('echo', 'The answer never repeats the prompt.');
  if (logprobs !== undefined) throw refused('logprobs', 'Use `POST /chat/completions` for them.');
  if ((bestOf ?? 1) > (params.n ?? 1)) throw refused('best_of', 'Use `n`.');
  const passedOn = Object.entries(other ?? {}).filter(([, member]) => member !== null);
  return create(chat.ChatCompletionParamsSchema, {
    ...shared,
    messages: [{ role: 'user', content: { value: { case: 'text', value } } }],
    other: Object.fromEntries(passedOn),
  });
}

function refused(param: string, advice: string): ParleyError {
  return invalid(param, `\`${param}\` cannot be had from a chat model. ${advice}`);
}

/** A list may have one text: some clients always send a list. */
function textOf(prompt: pb.CompletionParams['prompt']): string {
  const param = 'prompt';
  if (prompt?.value.case === 'text') return prompt.value.value;
  if (prompt?.value.case !== 'list') {
    throw new ParleyError('missing_input', { message: 'Send `prompt`, a text.', param });
  }
  const { items } = prompt.value.value;
  const [text] = items;
  if (text !== undefined && items.length === 1) return text;
  const message = `\`prompt\` has ${items.length} texts. Send one text, and a request for each further text.`;
  throw invalidInput(param, message);
}

import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  type Usage,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import {
  type Completion,
  type CompletionParams,
  CompletionParamsSchema,
  CompletionSchema,
  type CreateCompletionRequest,
  type CreateCompletionResponse,
  CreateCompletionResponseSchema,
  type StreamCompletionRequest,
} from '../../../gen/parley/completions/v1/completions_pb.ts';
import type { Call } from '../access/call.ts';
import { type ChatOperations, noteModel } from '../chat/service.ts';
import { contentText } from '../entities/chat-text.ts';
import { type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { isNews } from '../values/batches.ts';
import { breathe } from '../values/breathe.ts';
import { ParleyError } from '../values/errors.ts';
import { invalid } from '../values/parameters.ts';

interface CompletionDeps {
  readonly chat: ChatOperations;
  readonly idempotency: Idempotency;
}

const answerForm = messageForm(CreateCompletionResponseSchema);

/** Implements CompletionsService: each request is a chat, and is metered like one. */
export class CompletionOperations {
  readonly #deps: CompletionDeps;

  constructor(deps: CompletionDeps) {
    this.#deps = deps;
  }

  createCompletion(request: CreateCompletionRequest, call: Call): Promise<CreateCompletionResponse> {
    noteModel(request.params, call);
    const repeatable = { answerForm, request, call };
    return this.#deps.idempotency.run(repeatable, () => this.#create(request.params, call));
  }

  streamCompletion(request: StreamCompletionRequest, call: Call): AsyncGenerator<readonly Completion[]> {
    noteModel(request.params, call);
    return this.#stream(request.params, call);
  }

  async #create(params = create(CompletionParamsSchema), call: Call): Promise<CreateCompletionResponse> {
    const chat = toChatParams(params);
    const { message } = await this.#deps.chat.complete(chat, call);
    const choices = message.choices.map(({ index, message: said, finishReason }) => ({
      index,
      text: contentText(said?.content),
      finishReason,
    }));
    return create(CreateCompletionResponseSchema, { completion: toCompletion(message, choices, call) });
  }

  async *#stream(params = create(CompletionParamsSchema), call: Call): AsyncGenerator<readonly Completion[]> {
    await breathe(call.requestBytes);
    const chat = toChatParams(params);
    for await (const chunks of this.#deps.chat.stream(chat, call)) {
      const pieces = chunks.flatMap(({ message }) => {
        const choices = message.choices.map(({ index, delta, finishReason }) => ({
          index,
          text: delta?.content ?? '',
          finishReason,
        }));
        const shown = choices.filter(({ text, finishReason }) => text !== '' || finishReason);
        return shown.length > 0 || message.usage ? [toCompletion(message, shown, call)] : [];
      });
      if (isNews(pieces, chunks)) yield pieces;
    }
  }
}

type Choices = readonly Pick<Completion['choices'][number], 'index' | 'text' | 'finishReason'>[];

function toCompletion(
  { model, usage }: { readonly model: string; readonly usage?: Usage | undefined },
  choices: Choices,
  { id, startedAtMs }: Call,
): Completion {
  return create(CompletionSchema, {
    id: id.replace(/^req_/, 'cmpl-'),
    object: 'text_completion',
    created: BigInt(Math.floor(startedAtMs / 1000)),
    choices: [...choices],
    model,
    usage,
  });
}

/** @throws `missing_model`, `missing_input`, `invalid_input`, `invalid_parameter` */
function toChatParams(params: CompletionParams): ChatCompletionParams {
  const { $typeName: _, $unknown: __, prompt, suffix, echo, bestOf, logprobs, other, ...shared } = params;
  if (params.model === undefined) throw new ParleyError('missing_model', { param: 'model' });
  const value = textOf(prompt);
  if (suffix) throw refused('suffix', 'Put the whole text into `prompt`.');
  if (echo) throw refused('echo', 'The answer never repeats the prompt.');
  if (logprobs !== undefined) throw refused('logprobs', 'Use `POST /chat/completions` for them.');
  if ((bestOf ?? 1) > (params.n ?? 1)) throw refused('best_of', 'Use `n`.');
  const passedOn = Object.entries(other ?? {}).filter(([, member]) => member !== null);
  return create(ChatCompletionParamsSchema, {
    ...shared,
    messages: [{ role: 'user', content: { value: { case: 'text', value } } }],
    other: Object.fromEntries(passedOn),
  });
}

function refused(param: string, advice: string): ParleyError {
  return invalid(param, `\`${param}\` cannot be had from a chat model. ${advice}`);
}

/** A list may have one text: some clients always send a list. */
function textOf(prompt: CompletionParams['prompt']): string {
  const param = 'prompt';
  if (prompt?.value.case === 'text') return prompt.value.value;
  if (prompt?.value.case !== 'list') {
    throw new ParleyError('missing_input', { message: 'Send `prompt`, a text.', param });
  }
  const { items } = prompt.value.value;
  const [text] = items;
  if (text !== undefined && items.length === 1) return text;
  const message = `\`prompt\` has ${items.length} texts. Send one text, and a request for each further text.`;
  throw new ParleyError('invalid_input', { message, param });
}

import { create, toJsonString } from '@bufbuild/protobuf';
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
import { takeChoices } from '../chat/output-limit.ts';
import { refersElsewhere } from '../chat/references.ts';
import { type ChatOperations, noteModel } from '../chat/service.ts';
import { contentText } from '../entities/chat-text.ts';
import { type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { isNews } from '../values/batches.ts';
import { bounds } from '../values/bounds.ts';
import { breathe } from '../values/breathe.ts';
import { ParleyError } from '../values/errors.ts';
import { invalid } from '../values/parameters.ts';
import { forEachPrompt } from './each-prompt.ts';

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
    const { message } = await this.#deps.chat.complete(chat, call, adaptFor(chat));
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
    for await (const chunks of this.#deps.chat.stream(chat, call, adaptFor(chat))) {
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

/** Maximum UTF-16 code units of the other fields, times the number of prompts. */
const repeatedUnitsMax = 20 * 1024 * 1024;

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
  const texts = textsOf(prompt);
  if (suffix) throw refused('suffix', 'Put the whole text into `prompt`.');
  if (echo) throw refused('echo', 'The answer never repeats the prompt.');
  if (logprobs !== undefined) throw refused('logprobs', 'Use `POST /chat/completions` for them.');
  if ((bestOf ?? 1) > (params.n ?? 1)) throw refused('best_of', 'Use `n`.');
  const passedOn = Object.entries(other ?? {}).filter(([, member]) => member !== null);
  const chat = create(ChatCompletionParamsSchema, {
    ...shared,
    messages: texts.map((value) => ({ role: 'user', content: { value: { case: 'text' as const, value } } })),
    other: Object.fromEntries(passedOn),
  });
  if (texts.length > 1) multiplyChoices(chat);
  return chat;
}

/** Makes `n` the choices of all prompts. */
function multiplyChoices(chat: ChatCompletionParams): void {
  takeChoices(chat);
  const { n = 1, messages } = chat;
  const choices = n * messages.length;
  if (!Number.isInteger(n) || n < 1) throw invalid('n', '`n` must be a whole number from 1.');
  const { maximum } = bounds.choices;
  if (choices > maximum) {
    throw new ParleyError('invalid_input', {
      message: `\`prompt\` and \`n\` ask for ${choices} answers. Ask for at most ${maximum} at once.`,
      param: 'prompt',
    });
  }
  const repeated = toJsonString(ChatCompletionParamsSchema, { ...chat, messages: [] });
  if (repeated.length * messages.length > repeatedUnitsMax) {
    throw new ParleyError('invalid_input', {
      message: 'All other fields are sent with each text of `prompt`, which is too much for so many texts.',
      param: 'prompt',
    });
  }
  // Such a chat continues after its client has left, and would start the next prompts.
  if (refersElsewhere(chat)) {
    throw invalid(
      'prompt',
      'With tools or searches `prompt` must be one text. Send a request for each text.',
    );
  }
  chat.n = choices;
}

function adaptFor({ messages }: ChatCompletionParams): typeof forEachPrompt | undefined {
  return messages.length > 1 ? forEachPrompt : undefined;
}

function refused(param: string, advice: string): ParleyError {
  return invalid(param, `\`${param}\` cannot be had from a chat model. ${advice}`);
}

function textsOf(prompt: CompletionParams['prompt']): readonly string[] {
  const param = 'prompt';
  switch (prompt?.value.case) {
    case 'text':
      return [prompt.value.value];
    case 'list': {
      const { items } = prompt.value.value;
      if (items.length > 0) return items;
      throw new ParleyError('invalid_input', {
        message: '`prompt` is empty. Send at least one text.',
        param,
      });
    }
    default:
      throw new ParleyError('missing_input', { message: 'Send `prompt`, a text or a list of texts.', param });
  }
}

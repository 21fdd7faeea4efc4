/** Other forms of a chat: an API converts its parameters to those of a chat, and builds its answer from the chunks. */
import type { Message } from '@bufbuild/protobuf';
import type { ChatCompletionChunk, ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Call } from '../access/call.ts';
import { asChunk } from '../entities/chat-output.ts';
import type { ChatModel } from '../entities/model.ts';
import type { AnswerForm, Idempotency } from '../idempotency/idempotency.ts';
import { isNews } from '../values/batches.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';
import type { Labels } from '../values/labels.ts';
import type { Log } from '../values/log.ts';
import { breathe } from '../values/soon.ts';
import { placeOf, systemFirst, withOutputs } from './chat-messages.ts';
import { AnswerReasoning, type OpenReasoning, type ReasoningSeal } from './reasoning.ts';
import type { ChatOperations } from './service.ts';

export interface Dialect<Params, Event, Answer> {
  readonly form: AnswerForm<Answer>;
  /**
   * @param thinking how requests for thinking reach the model; undefined if there is none of that id
   * @param open reads the reasoning of earlier answers
   * @param takesBlocks whether the model takes contents as the Messages API has them
   */
  toChat(
    params: Params,
    thinking: ChatModel['thinking'] | undefined,
    open: OpenReasoning,
    takesBlocks: boolean,
  ): ChatCompletionParams;
  /** @param emit sends an event of a stream */
  build(
    params: Params,
    call: Call,
    emit: (event: Event) => void,
    reasoning: AnswerReasoning,
  ): AnswerBuilder<Answer>;
  /** Translates an error of the chat to the names of this API. Default: it stays as it is. */
  errorOf?(error: unknown): unknown;
  /** The end user and the tags that only this API names. Default: those of the chat */
  labelsOf?(params: Params): Labels;
  /** The types of tools that the model does not get, as only other servers have them; empty if it gets all. */
  droppedTools?(params: Params): string;
}

/** Builds an answer from the chunks of a chat. The other functions than `whole` emit the events of a stream. */
export interface AnswerBuilder<Answer> {
  /** Emits the events before those of the first chunks. @param model that works on the answer, as far as is known then */
  begin?(model: string): void;
  take(chunk: ChatCompletionChunk): void;
  finish?(): void;
  /** Emits the last events of a stream that has begun and failed. */
  fail?(error: ParleyError): void;
  /** The answer to a request that is not streamed. */
  whole(chunk: ChatCompletionChunk): Answer;
}

type Asked = { readonly model?: string | undefined };
type Asks<Params> = Message & { readonly params?: Params | undefined };

interface DialectDeps {
  readonly chat: ChatOperations;
  readonly idempotency: Idempotency;
  readonly reasoning: ReasoningSeal;
  readonly log: Log;
}

/** Implements the RPCs of a dialect. Each request is a chat, and is metered like one. */
export class DialectOperations<Params extends Asked, Event, Answer> {
  readonly #dialect: Dialect<Params, Event, Answer>;
  readonly #deps: DialectDeps;

  constructor(dialect: Dialect<Params, Event, Answer>, deps: DialectDeps) {
    this.#dialect = dialect;
    this.#deps = deps;
  }

  create(request: Asks<Params>, call: Call): Promise<Answer> {
    call.metering.noteModel(request.params?.model);
    const repeatable = { answerForm: this.#dialect.form, request, call };
    return this.#deps.idempotency.run(repeatable, () => this.#create(request.params, call));
  }

  /** Settles before the events that end the answer. */
  stream({ params }: Asks<Params>, call: Call): AsyncGenerator<readonly Event[]> {
    call.metering.noteModel(params?.model);
    return this.#stream(params, call);
  }

  /** Counts the tokens of the prompt, without running it. */
  async countPrompt({ params }: Asks<Params>, call: Call): Promise<{ readonly inputTokens: number }> {
    call.metering.noteModel(params?.model);
    await breathe(call.requestBytes);
    return { inputTokens: await this.#deps.chat.countPrompt(this.#toChat(named(params), call), call) };
  }

  async #create(asked: Params | undefined, call: Call): Promise<Answer> {
    await breathe(call.requestBytes);
    const params = named(asked);
    const answer = this.#build(params, call, () => undefined);
    const { paramsFor, errorOf } = this.#conversion(params, call);
    try {
      return answer.whole(asChunk((await this.#deps.chat.complete(paramsFor(), call, paramsFor)).message));
    } catch (error) {
      throw errorOf(error);
    }
  }

  async *#stream(asked: Params | undefined, call: Call): AsyncGenerator<readonly Event[]> {
    await breathe(call.requestBytes);
    const params = named(asked);
    const events: Event[] = [];
    const answer = this.#build(params, call, (event) => events.push(event));
    let hasBegun = false;
    const { paramsFor, errorOf } = this.#conversion(params, call);
    try {
      for await (const chunks of this.#deps.chat.stream(paramsFor(), call, { paramsFor })) {
        if (!hasBegun) answer.begin?.(call.metering.answering ?? params.model ?? '');
        hasBegun = true;
        for (const { message } of chunks) answer.take(message);
        if (isNews(events, chunks)) yield events.splice(0);
      }
      answer.finish?.();
      if (events.length > 0) yield events;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (hasBegun && answer.fail && !call.signal.aborted) {
        // Clients stop at these events, so the record ends before them.
        await call.metering.void(error);
        answer.fail(toParleyError(error));
        yield events;
      }
      throw error;
    }
  }

  #build(params: Params, call: Call, emit: (event: Event) => void): AnswerBuilder<Answer> {
    call.metering.noteLabels(this.#dialect.labelsOf?.(params) ?? {});
    const tools = this.#dialect.droppedTools?.(params);
    if (tools)
      this.#deps.log.info(
        { requestId: call.id, tools },
        'the model does not get tools that only other servers have',
      );
    const reasoning = new AnswerReasoning(this.#deps.reasoning, call.caller.account.id);
    return this.#dialect.build(params, call, emit, reasoning);
  }

  #toChat(params: Params, call: Call, model = this.#deps.chat.modelOf(params.model)): ChatCompletionParams {
    const { thinking, systemMessages, engine } = model ?? {};
    const open = this.#deps.reasoning.opening(call.caller.account.id, model?.id ?? params.model);
    const chat = this.#dialect.toChat(params, thinking, open, engine?.takesBlocks === true);
    if (systemMessages !== 'as-sent') chat.messages = systemFirst(chat.messages);
    chat.messages = withOutputs(chat.messages);
    return chat;
  }

  /** Converts the request for each model that may answer, and its errors back. */
  #conversion(params: Params, call: Call) {
    let sent: ChatCompletionParams | undefined;
    return {
      paramsFor: (model?: ChatModel) => {
        sent = this.#toChat(params, call, model);
        return sent;
      },
      errorOf: (thrown: unknown): unknown => {
        const error = sent ? inOwnPath(thrown, sent) : thrown;
        return this.#dialect.errorOf ? this.#dialect.errorOf(error) : error;
      },
    };
  }
}

/** An upstream names a message of the chat. The client knows the place of its own request from which it was made. */
function inOwnPath(error: unknown, { messages }: ChatCompletionParams): unknown {
  if (!(error instanceof ParleyError)) return error;
  const { code, message, cause, param = '' } = error;
  const [field, index] = /^messages\[(\d+)\].*$/.exec(param) ?? [];
  const place = field && placeOf(messages[Number(index)]);
  if (!place) return error;
  return new ParleyError(code, { ...error, message: message.replace(field, place), cause, param: place });
}

export type OperationsOf<D> =
  D extends Dialect<infer Params extends Asked, infer Event, infer Answer>
    ? DialectOperations<Params, Event, Answer>
    : never;

/** A dialect converts all parameters, so the model is asked for before. */
function named<Params extends Asked>(params: Params | undefined): Params {
  if (params?.model !== undefined) return params;
  throw new ParleyError('missing_model', { param: 'model' });
}

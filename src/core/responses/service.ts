import { create } from '@bufbuild/protobuf';
import {
  type CreateResponseRequest,
  type CreateResponseResponse,
  CreateResponseResponseSchema,
  type ResponseEvent,
  ResponseParamsSchema,
  type StreamResponseRequest,
} from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { Call } from '../access/call.ts';
import { asChunk } from '../chat/answer-as-chunk.ts';
import { type ChatOperations, noteModel } from '../chat/service.ts';
import { type Idempotency, messageForm } from '../idempotency/idempotency.ts';
import { isNews } from '../values/batches.ts';
import { breathe } from '../values/breathe.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';
import { ResponseAnswer } from './answer.ts';
import { toChatParams } from './chat-params.ts';

export interface ResponseDeps {
  readonly chat: ChatOperations;
  readonly idempotency: Idempotency;
}

const answerForm = messageForm(CreateResponseResponseSchema);

/** Implements ResponsesService: each request is a chat, and is metered like one. */
export class ResponseOperations {
  readonly #deps: ResponseDeps;

  constructor(deps: ResponseDeps) {
    this.#deps = deps;
  }

  createResponse(request: CreateResponseRequest, call: Call): Promise<CreateResponseResponse> {
    noteModel(request.params, call);
    const repeatable = { answerForm, request, call };
    return this.#deps.idempotency.run(repeatable, () => this.#create(request.params, call));
  }

  /** Settles before the events that end the answer. */
  streamResponse(request: StreamResponseRequest, call: Call): AsyncGenerator<readonly ResponseEvent[]> {
    noteModel(request.params, call);
    return this.#stream(request.params, call);
  }

  async #create(params = create(ResponseParamsSchema), call: Call): Promise<CreateResponseResponse> {
    const answer = new ResponseAnswer(params, call);
    try {
      answer.take([asChunk(await this.#deps.chat.complete(toChatParams(params), call))]);
    } catch (error) {
      throw inOwnWords(error);
    }
    const response = answer.finish().at(-1)?.response;
    return create(CreateResponseResponseSchema, { ...(response && { response }) });
  }

  async *#stream(
    params = create(ResponseParamsSchema),
    call: Call,
  ): AsyncGenerator<readonly ResponseEvent[]> {
    await breathe(call.requestBytes);
    const answer = new ResponseAnswer(params, call);
    try {
      for await (const chunks of this.#deps.chat.stream(toChatParams(params), call)) {
        const events = answer.take(chunks.map(({ message }) => message));
        if (isNews(events, chunks)) yield events;
      }
      yield answer.finish();
    } catch (thrown) {
      const error = inOwnWords(thrown);
      if (answer.hasBegun && !call.signal.aborted) {
        // Clients stop at this event, so the record ends before it.
        await call.metering.void(error);
        yield answer.fail(toParleyError(error));
      }
      throw error;
    }
  }
}

/** The error of a prompt that is too long names the field that contains it. */
function inOwnWords(error: unknown): unknown {
  if (!(error instanceof ParleyError)) return error;
  const { code, message, cause } = error;
  if (code === 'context_length_exceeded') return new ParleyError(code, { message, cause, param: 'input' });
  return code === 'invalid_messages' ? new ParleyError('invalid_input', { message, param: 'input' }) : error;
}

import {
  type CreateResponseResponse,
  CreateResponseResponseSchema,
  type ResponseEvent,
  type ResponseParams,
} from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { Dialect } from '../chat/dialect.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import { ParleyError } from '../values/errors.ts';
import { ResponseAnswer } from './answer.ts';
import { toChatParams } from './chat-params.ts';
import { Tools } from './tools.ts';

export const responses: Dialect<ResponseParams, ResponseEvent, CreateResponseResponse> = {
  form: messageForm(CreateResponseResponseSchema),
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

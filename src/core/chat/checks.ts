import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type Catalog, unknownModel } from '../catalog/catalog.ts';
import type { ChatAnswer } from '../entities/chat-answer.ts';
import type { ChatModel } from '../entities/model.ts';
import { bounds, isWithin } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { invalid } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';
import { takeChoices } from './output-limit.ts';

/**
 * Checks the parameters that Parley itself uses, and returns the model. The model checks the others.
 * @throws `missing_model`, `missing_messages`, `invalid_messages`, `unknown_model`, `invalid_parameter`
 */
export function checkChatParams(params: ChatCompletionParams, catalog: Catalog): ChatModel {
  if (params.model === undefined) throw new ParleyError('missing_model', { param: 'model' });
  checkMessages(params);
  if (params.model.trim() === '') throw invalid('model', '`model` is blank. Send the id of a model.');
  const model = catalog.chatModel(params.model);
  if (model === undefined) throw unknownModel('chat', params.model);
  takeChoices(params);
  checkLimit('max_tokens', params.maxTokens);
  checkLimit('max_completion_tokens', params.maxCompletionTokens);
  checkChoices(params.n);
  return model;
}

/** @throws `upstream_error` for no choice, or one without a finish reason: the answer was cut short */
export function checkWhole({ choices }: ChatAnswer): void {
  if (choices.length > 0 && choices.every(({ finishReason }) => finishReason)) return;
  throw new ParleyError('upstream_error', {
    cause: new Error('the answer has no finish reason'),
    hasRun: true,
  });
}

function checkMessages({ messages }: ChatCompletionParams): void {
  if (messages.length < bounds.messages.minItems) {
    throw new ParleyError('missing_messages', { param: 'messages' });
  }
  const index = messages.findIndex(({ role }) => role === undefined || role.trim() === '');
  if (index >= 0) {
    throw new ParleyError('invalid_messages', {
      message: `\`messages[${index}]\` has no role. Send \`role\` and \`content\`.`,
      param: `messages[${index}].role`,
    });
  }
}

/** 0 and negative numbers mean no limit, as on some servers. @throws `invalid_parameter` */
export function checkLimit(name: string, value: number | undefined): void {
  if (value === undefined || Number.isSafeInteger(value)) return;
  throw invalid(name, `\`${name}\` must be a whole number.`);
}

const droppedCharactersMax = 512;

/** @returns the types of tools that a model does not get, for the client and the log; at most 512 characters */
export function namesOf(droppedTypes: readonly string[]): string {
  return [...new Set(droppedTypes)].join(', ').slice(0, droppedCharactersMax);
}

/** @throws `invalid_parameter` for a choice that requires a dropped tool */
export function refuseForced(tool: string): never {
  throw invalid(
    'tool_choice',
    `\`tool_choice\` requires ${quote(tool)}, but this server has no built-in tools: choose a tool of your own.`,
  );
}

function checkChoices(n: number | undefined): void {
  const { choices } = bounds;
  if (n === undefined || (Number.isInteger(n) && isWithin(n, choices))) return;
  throw invalid('n', `\`n\` must be a whole number from 1 to ${choices.maximum}.`);
}

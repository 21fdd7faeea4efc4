/** Converts the request to that of a chat. */
import { create, type JsonObject } from '@bufbuild/protobuf';
import type { Value } from '@bufbuild/protobuf/wkt';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  type ResponseFormat,
  ResponseFormatSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import {
  type ResponseParams,
  ResponseParamsSchema,
  type TextFormat,
} from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { OpenReasoning } from '../chat/reasoning.ts';
import { invalid, readOneOf } from '../values/parameters.ts';
import { toMessages } from './messages.ts';
import { Tools } from './tools.ts';

const formatTypes = ['text', 'json_object', 'json_schema'];
const logprobsValue = 'message.output_text.logprobs';

/**
 * Parameters that do not reach the model as they are: all of this API, and those that would produce answers that nobody
 * receives.
 */
const ownNames: ReadonlySet<string> = new Set([
  ...ResponseParamsSchema.fields.map(({ jsonName }) => jsonName),
  ...['n', 'n_cmpl'],
]);

/**
 * Checks the parameters that only this API has. The rest is checked as in any chat.
 * @param open reads the reasoning of earlier answers. Default: it is dropped
 * @throws `missing_input`, `invalid_input`, `invalid_parameter`
 */
export function toChatParams(params: ResponseParams, open?: OpenReasoning): ChatCompletionParams {
  const { model, input, instructions, text, reasoning, toolChoice } = params;
  refuseStored(params);
  checkLimit(params.maxOutputTokens);
  const tools = Tools.of(params.tools);
  const chatTools = tools.toChat();
  return create(ChatCompletionParamsSchema, {
    model,
    temperature: params.temperature,
    topP: params.topP,
    topLogprobs: params.topLogprobs,
    // Servers refuse it without tools.
    parallelToolCalls:
      params.tools.length > 0 && chatTools.length === 0 ? undefined : params.parallelToolCalls,
    user: params.user,
    safetyIdentifier: params.safetyIdentifier,
    promptCacheKey: params.promptCacheKey,
    serviceTier: params.serviceTier,
    messages: toMessages(input, { instructions, tools, open }),
    tools: chatTools,
    toolChoice: hasValue(toolChoice) ? tools.toChoice(toolChoice) : undefined,
    maxCompletionTokens: params.maxOutputTokens,
    responseFormat: text?.format && toResponseFormat(text.format),
    verbosity: text?.verbosity,
    reasoningEffort: reasoning?.effort,
    logprobs: params.include.includes(logprobsValue) || (params.topLogprobs ?? 0) > 0 || undefined,
    other: passedOn(params.other),
  });
}

function refuseStored({ previousResponseId, conversation, prompt, background }: ResponseParams): void {
  const reason = 'this server stores no responses. Send the whole conversation as `input`.';
  if (previousResponseId !== undefined) {
    throw invalid('previous_response_id', `\`previous_response_id\` has no meaning here: ${reason}`);
  }
  if (hasValue(conversation)) {
    throw invalid('conversation', `\`conversation\` has no meaning here: ${reason}`);
  }
  if (hasValue(prompt)) {
    throw invalid(
      'prompt',
      '`prompt` has no meaning here: this server stores no prompts. Send `instructions` and `input`.',
    );
  }
  if (background === true) {
    throw invalid(
      'background',
      '`background` must be false, as this server stores no responses to be fetched later. Use `stream`.',
    );
  }
}

/** A `null` counts as absent. */
function hasValue(value: Value | undefined): value is Value {
  return value !== undefined && value.kind.case !== undefined && value.kind.case !== 'nullValue';
}

function checkLimit(value: number | undefined): void {
  if (value === undefined || Number.isSafeInteger(value)) return;
  throw invalid('max_output_tokens', '`max_output_tokens` must be a whole number.');
}

/** Undefined for plain text, every model's default. */
function toResponseFormat(format: TextFormat): ResponseFormat | undefined {
  const { type = 'text', name, description, schema, strict } = format;
  readOneOf('text.format.type', type, formatTypes);
  if (type === 'text') return undefined;
  if (type === 'json_object') return create(ResponseFormatSchema, { type });
  return create(ResponseFormatSchema, { type, jsonSchema: { name, description, schema, strict } });
}

/** Unknown parameters reach the model as those of a chat. `null` is left out: it is the default here, but not on every server. */
function passedOn(other: JsonObject = {}): JsonObject {
  const kept = Object.entries(other).filter(([name, value]) => value !== null && !ownNames.has(name));
  return Object.fromEntries(kept);
}

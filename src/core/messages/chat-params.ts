/** Converts the request to that of a chat. */
import { create, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  type ResponseFormat,
  ResponseFormatSchema,
  type Tool,
  ToolSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import type {
  MessageParams,
  MessageTool,
  MessageToolChoice,
  OutputFormat,
} from '../../../gen/parley/messages/v1/messages_pb.ts';
import type { OpenReasoning } from '../chat/reasoning.ts';
import type { ChatModel } from '../entities/model.ts';
import { invalid } from '../values/parameters.ts';
import { present } from '../values/present.ts';
import { quote } from '../values/quote.ts';
import { toMessages } from './chat-messages.ts';

/**
 * Checks the parameters that only this API has. The rest is checked as in any chat.
 * @param asked how requests for thinking reach the model
 * @param open reads the reasoning of earlier answers. Default: it is dropped
 * @param takesBlocks whether the model takes contents as this API has them
 * @throws `missing_messages`, `invalid_messages`, `invalid_parameter`
 */
export function toChatParams(
  params: MessageParams,
  asked: ChatModel['thinking'] = 'effort',
  open?: OpenReasoning,
  takesBlocks = false,
): ChatCompletionParams {
  const { model, maxTokens, topK, toolChoice, outputConfig, stopSequences: items } = params;
  checkLimit(maxTokens);
  return create(ChatCompletionParamsSchema, {
    model,
    maxTokens,
    temperature: params.temperature,
    topP: params.topP,
    messages: toMessages(params, open, takesBlocks),
    stop: items.length === 0 ? undefined : { value: { case: 'list', value: { items } } },
    tools: params.tools.map((tool, index) => toTool(tool, index, takesBlocks)),
    toolChoice: toolChoice && toToolChoice(toolChoice),
    parallelToolCalls: toolChoice?.disableParallelToolUse ? false : undefined,
    reasoningEffort: asked === 'none' ? undefined : outputConfig?.effort,
    responseFormat: outputConfig?.format && toResponseFormat(outputConfig.format),
    other: present({
      top_k: topK,
      thinking: asked === 'parameter' ? params.thinking : undefined,
      anthropic_beta: takesBlocks && params.betas.length > 0 ? params.betas : undefined,
    }),
  });
}

function checkLimit(value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw invalid('max_tokens', '`max_tokens` must be a whole number above 0.');
}

function toTool(
  { type, name, description, inputSchema, strict, cacheControl }: MessageTool,
  index: number,
  takesBlocks: boolean,
): Tool {
  const path = `tools[${index}]`;
  if (type !== undefined && type !== 'custom') {
    throw invalid(
      `${path}.type`,
      `\`${path}.type\` is ${quote(type)}. This server has no built-in tools: send tools with an \`input_schema\`.`,
    );
  }
  if (!name) throw invalid(`${path}.name`, `\`${path}\` has no \`name\`.`);
  return create(ToolSchema, {
    type: 'function',
    function: { name, description, parameters: inputSchema, strict },
    other: takesBlocks && cacheControl ? { cache_control: cacheControl } : undefined,
  });
}

function toToolChoice({ type, name }: MessageToolChoice): Value {
  return fromJson(ValueSchema, chatChoice(type, name));
}

function chatChoice(type: string | undefined, name: string | undefined): JsonValue {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if (type === 'tool' && name) return { type: 'function', function: { name } };
  throw invalid('tool_choice', '`tool_choice.type` must be auto, any, none, or tool with a `name`.');
}

function toResponseFormat({ type, schema }: OutputFormat): ResponseFormat {
  if (type !== 'json_schema') {
    throw invalid('output_config.format.type', '`output_config.format.type` must be json_schema.');
  }
  return create(ResponseFormatSchema, { type, jsonSchema: { name: 'output', schema, strict: true } });
}

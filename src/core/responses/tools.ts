/** Converts tools and the choice among them to those of a chat. */
import { create, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { type Tool, ToolSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ResponseTool } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { invalid } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';

const modes: readonly unknown[] = ['none', 'auto', 'required'];

/** @throws `invalid_parameter` for a tool that is not the client's own, as the server runs none */
export function toTools(tools: readonly ResponseTool[]): Tool[] {
  return tools.map((tool, index) => {
    const { type = '', name, description, parameters, strict, format } = tool;
    const path = `tools[${index}]`;
    if (!isToolType(type)) {
      throw invalid(
        `${path}.type`,
        `\`${path}.type\` is ${quote(type)}. This server has no built-in tools: send tools of the type function or custom.`,
      );
    }
    if (!name) throw invalid(`${path}.name`, `\`${path}\` has no \`name\`.`);
    return create(
      ToolSchema,
      type === 'function'
        ? { type, function: { name, description, parameters, strict } }
        : { type, custom: { name, description, format: format && chatFormat(format) } },
    );
  });
}

function isToolType(type: JsonValue | undefined): type is 'function' | 'custom' {
  return type === 'function' || type === 'custom';
}

/** A chat has a grammar in a separate object. */
function chatFormat({ type, ...grammar }: JsonObject): JsonObject {
  return type === 'grammar' ? { type, grammar } : { ...grammar, ...(type !== undefined && { type }) };
}

/** @throws `invalid_parameter` */
export function toToolChoice(choice: Value): Value {
  return fromJson(ValueSchema, chatChoice(toJson(ValueSchema, choice)));
}

function chatChoice(choice: JsonValue): JsonValue {
  if (modes.includes(choice)) return choice;
  if (isObject(choice)) {
    const { type, name, mode, tools } = choice;
    if (isToolType(type) && typeof name === 'string') return named(type, name);
    if (type === 'allowed_tools' && modes.includes(mode) && Array.isArray(tools)) {
      return { type, allowed_tools: { mode: mode ?? 'auto', tools: tools.map(allowedTool) } };
    }
  }
  throw invalid(
    'tool_choice',
    '`tool_choice` must be none, auto, required, or an object of the type function, custom or allowed_tools.',
  );
}

function allowedTool(tool: JsonValue): JsonValue {
  if (isObject(tool) && isToolType(tool['type']) && typeof tool['name'] === 'string') {
    return named(tool['type'], tool['name']);
  }
  throw invalid(
    'tool_choice',
    '`tool_choice.tools` must be objects of the type function or custom with a name.',
  );
}

function named(type: 'function' | 'custom', name: string): JsonObject {
  return { type, [type]: { name } };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

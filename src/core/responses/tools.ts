/** Tools and the choice among them as a chat has them. */
import { create, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { type Tool, ToolSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ResponseTool } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { invalid } from '../parameters.ts';
import { quote } from '../quote.ts';

const modes: readonly unknown[] = ['none', 'auto', 'required'];

/** @throws `invalid_parameter` for a tool that is not a function of the client: the server runs none */
export function toTools(tools: readonly ResponseTool[]): Tool[] {
  return tools.map(({ type = '', name, description, parameters, strict }, index) => {
    const path = `tools[${index}]`;
    if (type !== 'function') {
      throw invalid(
        `${path}.type`,
        `\`${path}.type\` is ${quote(type)}. This server has no built-in tools: send tools of the type function.`,
      );
    }
    if (!name) throw invalid(`${path}.name`, `\`${path}\` has no \`name\`.`);
    return create(ToolSchema, { type, function: { name, description, parameters, strict } });
  });
}

/** @throws `invalid_parameter` */
export function toToolChoice(choice: Value): Value {
  return fromJson(ValueSchema, chatChoice(toJson(ValueSchema, choice)));
}

function chatChoice(choice: JsonValue): JsonValue {
  if (modes.includes(choice)) return choice;
  if (isObject(choice)) {
    const { type, name, mode, tools } = choice;
    if (type === 'function' && typeof name === 'string') return named(name);
    if (type === 'allowed_tools' && modes.includes(mode) && Array.isArray(tools)) {
      return { type, allowed_tools: { mode: mode ?? 'auto', tools: tools.map(allowedTool) } };
    }
  }
  throw invalid(
    'tool_choice',
    '`tool_choice` must be none, auto, required, or an object of the type function or allowed_tools.',
  );
}

function allowedTool(tool: JsonValue): JsonValue {
  if (isObject(tool) && tool['type'] === 'function' && typeof tool['name'] === 'string') {
    return named(tool['name']);
  }
  throw invalid('tool_choice', '`tool_choice.tools` must be objects of the type function with a name.');
}

function named(name: string): JsonObject {
  return { type: 'function', function: { name } };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

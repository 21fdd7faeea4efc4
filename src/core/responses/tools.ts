/** Converts tools and the choice among them to those of a chat, and their names back. */
import { create, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Value, ValueSchema } from '@bufbuild/protobuf/wkt';
import { type Tool, ToolSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ResponseTool } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { namesOf, refuseForced } from '../chat/checks.ts';
import { isObject } from '../values/json.ts';
import { invalid } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';

const modes: readonly unknown[] = ['none', 'auto', 'required'];
/** Names that are tried for a tool. More would take long for many tools, and no agent needs them. */
const namesTriedMax = 10;

type OwnType = 'function' | 'custom';

/** The client's name of a tool. */
interface ToolName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

interface OfferedTool {
  readonly tool: ResponseTool;
  readonly path: string;
  readonly namespace?: string | undefined;
}

/** The tools of a request. A chat has no namespaces: tools in them keep their names, and get longer ones where these collide. */
export class Tools {
  /** The types of built-in tools, which are not offered to the model; at most 512 characters. */
  readonly dropped: string;
  readonly #offered: readonly OfferedTool[];
  readonly #chatNames = new Map<string, string>();
  readonly #clientNames = new Map<string, ToolName>();

  static readonly #tables = new WeakMap<readonly ResponseTool[], Tools>();

  /** The table of a request, which is built once. @throws `invalid_parameter` if too many names collide */
  static of(tools: readonly ResponseTool[]): Tools {
    const table = Tools.#tables.get(tools) ?? new Tools(tools);
    Tools.#tables.set(tools, table);
    return table;
  }

  private constructor(tools: readonly ResponseTool[]) {
    const all = tools.flatMap(spread);
    const dropped = all.map(({ tool: { type = '' } }) => type).filter((type) => type !== '' && !isOwn(type));
    this.dropped = namesOf(dropped);
    this.#offered = all.filter(({ tool: { type = '' } }) => type === '' || isOwn(type));
    const [inNone, inSome] = [[], []] as [OfferedTool[], OfferedTool[]];
    for (const offered of this.#offered) (offered.namespace === undefined ? inNone : inSome).push(offered);
    for (const { tool, namespace } of [...inNone, ...inSome])
      this.#name({ name: tool.name ?? '', namespace });
  }

  /** @throws `invalid_parameter` for a tool without its type or name */
  toChat(): Tool[] {
    return this.#offered.map(({ tool, path, namespace }) => {
      const { type, description, parameters, strict, format } = tool;
      if (!type) throw invalid(`${path}.type`, `\`${path}\` has no \`type\`.`);
      if (!tool.name) throw invalid(`${path}.name`, `\`${path}\` has no \`name\`.`);
      const name = this.chatName({ name: tool.name, namespace });
      return create(
        ToolSchema,
        type === 'function'
          ? { type, function: { name, description, parameters, strict } }
          : { type, custom: { name, description, format: format && chatFormat(format) } },
      );
    });
  }

  /**
   * @returns undefined if there is nothing left to choose from
   * @throws `invalid_parameter`, also if a built-in tool must be called
   */
  toChoice(choice: Value): Value | undefined {
    const json = this.#choice(toJson(ValueSchema, choice));
    return json === undefined ? undefined : fromJson(ValueSchema, json);
  }

  /** The name that the model reads. */
  chatName(tool: ToolName): string {
    return this.#chatNames.get(keyOf(tool)) ?? tool.name;
  }

  /** The client's name of a tool that the model calls. */
  clientName(name: string): ToolName {
    return this.#clientNames.get(name) ?? { name };
  }

  #name(tool: ToolName): void {
    const { name, namespace } = tool;
    if (this.#chatNames.has(keyOf(tool))) return;
    const longer = `${namespace}__${name}`;
    let chatName = this.#clientNames.has(name) ? longer : name;
    for (let count = 2; this.#clientNames.has(chatName); count++) {
      if (count > namesTriedMax)
        throw invalid(
          'tools',
          `Too many tools are named like ${quote(longer)}. Give them names that differ.`,
        );
      chatName = `${longer}_${count}`;
    }
    this.#chatNames.set(keyOf(tool), chatName);
    this.#clientNames.set(chatName, tool);
  }

  #choice(choice: JsonValue): JsonValue | undefined {
    if (modes.includes(choice)) {
      if (choice === 'required' && this.#isEmpty) refuseForced(this.dropped);
      return this.#isEmpty ? undefined : choice;
    }
    if (isObject(choice)) {
      const { type, mode = 'auto', tools } = choice;
      if (isOwn(type) && typeof choice['name'] === 'string') return this.#named(type, choice);
      if (type === 'allowed_tools' && modes.includes(mode) && Array.isArray(tools)) {
        return this.#allowed(mode, tools);
      }
      if (typeof type === 'string' && !isOwn(type) && type !== 'allowed_tools') refuseForced(type);
    }
    throw invalid(
      'tool_choice',
      '`tool_choice` must be none, auto, required, or an object of the type function, custom or allowed_tools.',
    );
  }

  /** Whether all tools were dropped. */
  get #isEmpty(): boolean {
    return this.dropped !== '' && this.#offered.length === 0;
  }

  #allowed(mode: JsonValue, tools: readonly JsonValue[]): JsonValue | undefined {
    const types = tools.map((tool) => (isObject(tool) ? tool['type'] : undefined));
    const named = tools.flatMap((tool) => this.#allowedTool(tool));
    if (named.length > 0) return { type: 'allowed_tools', allowed_tools: { mode, tools: named } };
    if (mode === 'required') refuseForced(types.join(', '));
    return this.#isEmpty ? undefined : 'none';
  }

  /** Nothing for a built-in tool. */
  #allowedTool(tool: JsonValue): JsonValue[] {
    if (isObject(tool)) {
      const { type, name } = tool;
      if (typeof type === 'string' && !isOwn(type)) return [];
      if (isOwn(type) && typeof name === 'string') return [this.#named(type, tool)];
    }
    throw invalid(
      'tool_choice',
      '`tool_choice.tools` must be objects of the type function or custom with a name.',
    );
  }

  #named(type: OwnType, { name, namespace }: JsonObject): JsonObject {
    const tool = { name: String(name), namespace: typeof namespace === 'string' ? namespace : undefined };
    return { type, [type]: { name: this.chatName(tool) } };
  }
}

/** @throws `invalid_parameter` for tools that are not the client's own, which a conversation has no place for */
export function checkOwnTools(tools: readonly ResponseTool[]): void {
  const at = tools.findIndex(({ type }) => !isOwn(type));
  if (at >= 0)
    throw invalid(
      `tools[${at}].type`,
      `\`tools[${at}].type\` must be function or custom: this server has no built-in tools.`,
    );
  Tools.of(tools).toChat();
}

/** A namespace becomes the tools in it. */
function spread(tool: ResponseTool, index: number): OfferedTool[] {
  const path = `tools[${index}]`;
  if (tool.type !== 'namespace') return [{ tool, path }];
  const { name: namespace, tools } = tool;
  return tools.map((inner, at) => ({ tool: inner, path: `${path}.tools[${at}]`, namespace }));
}

function keyOf({ name, namespace }: ToolName): string {
  return JSON.stringify([namespace, name]);
}

function isOwn(type: JsonValue | undefined): type is OwnType {
  return type === 'function' || type === 'custom';
}

/** A chat has a grammar in a separate object. */
function chatFormat({ type, ...grammar }: JsonObject): JsonObject {
  return type === 'grammar' ? { type, grammar } : { ...grammar, ...(type !== undefined && { type }) };
}

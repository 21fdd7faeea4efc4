/** The output of an answer, in whatever members a model sends it: its text, for counting tokens, and what cannot be counted. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

export interface ChatOutput {
  /** All text, including tool calls, reasoning and members that the schema does not name. */
  readonly text: string;
  /** Whether there is anything but a role, a finish reason or usage. */
  readonly hasOutput: boolean;
  /** Whether there is output whose tokens cannot be counted, such as audio or images. */
  readonly isOpaque: boolean;
}

/** Members in which models send their reasoning. Some send it in several of them at once. */
export const reasoningMembers: ReadonlySet<string> = new Set([
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking',
  'thinking_blocks',
]);
/** Members whose strings stand for audio, images or encrypted text. */
const opaqueMembers: ReadonlySet<string> = new Set([
  'data',
  'b64_json',
  'image_url',
  'audio_url',
  'file_data',
  'encrypted_content',
]);
/** Members whose plain strings are audio, images or video, or their URLs. */
const mediaMembers: ReadonlySet<string> = new Set(['audio', 'image', 'images', 'video', 'videos', 'b64']);
/** Members whose strings and numbers the model did not write. */
const labels: ReadonlySet<string> = new Set([
  'type',
  'id',
  'index',
  'format',
  'object',
  'role',
  'url',
  'created',
  'expires_at',
]);
const isLabel = (name: string) => labels.has(name) || name.endsWith('signature');

/** Reads the output of an answer member by member. */
export class OutputReader implements ChatOutput {
  text = '';
  hasOutput = false;
  isOpaque = false;

  addText(text: string | undefined): void {
    if (!text) return;
    this.text += text;
    this.hasOutput = true;
  }

  /** Adds members that the schema does not name. */
  addMembers(members: JsonObject): void {
    this.addText(reasoningText(members));
    for (const [name, value] of Object.entries(members)) {
      if (reasoningMembers.has(name)) this.#addUncounted(value);
      else this.addValue(value, name);
    }
  }

  addValue(value: JsonValue | undefined, name = ''): void {
    if (typeof value === 'string') this.#addString(value, name);
    else if (typeof value === 'number') this.hasOutput ||= !isLabel(name);
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) this.#addItem(item, name, index);
    else if (typeof value === 'object' && value !== null) {
      const isOpaque = opaqueMembers.has(name);
      const isMedia = mediaMembers.has(name);
      for (const [member, part] of Object.entries(value)) {
        this.addValue(part, isOpaque || (isMedia && member === 'url') ? name : member);
      }
    }
  }

  /** Parts of a content are lines. */
  #addItem(item: JsonValue, name: string, index: number): void {
    if (name === 'content' && index > 0) this.text += '\n';
    this.addValue(item, name);
  }

  /** Adds tokens with logprobs. They repeat the text, where there is any. */
  addTokens(tokens: readonly string[], textBefore: string): void {
    if (tokens.length > 0) this.hasOutput = true;
    if (this.text === textBefore) this.addText(tokens.join(''));
  }

  #addString(text: string, name: string): void {
    if (text === '') return;
    this.hasOutput = true;
    if (opaqueMembers.has(name) || mediaMembers.has(name)) this.isOpaque = true;
    else if (!isLabel(name)) this.text += text;
  }

  /** Adds a value whose text is counted already. */
  #addUncounted(value: JsonValue | undefined): void {
    const output = new OutputReader();
    output.addValue(value);
    this.hasOutput ||= output.hasOutput;
    this.isOpaque ||= output.isOpaque;
  }
}

/** The reasoning in a message or a delta. */
export function reasoningText(members: JsonObject | undefined): string {
  if (members === undefined) return '';
  for (const name of reasoningMembers) {
    if (members[name] == null) continue;
    const reasoning = new OutputReader();
    reasoning.addValue(members[name]);
    if (reasoning.text !== '') return reasoning.text;
  }
  return '';
}

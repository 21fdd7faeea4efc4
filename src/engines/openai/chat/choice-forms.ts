/** Brings the choices of upstreams that write them in other forms into that of the OpenAI API. */
import type { JsonObject } from '@bufbuild/protobuf';
import { numberOf, objectsOf, stringOf } from '../../../codec/shape.ts';
import { withParts } from '../../../core/entities/chat-output.ts';
import { isObject } from '../../../core/values/json.ts';

/** Other names of the reason that a limit has ended the answer. */
const lengthReasons: ReadonlySet<unknown> = new Set(['max_tokens', 'MAX_TOKENS', 'model_length']);

/**
 * Changes the JSON of an answer or a chunk: a call without its list, another API's reason, a message with thinking in its content, the text
 * of a legacy completion, tokens under other names.
 */
export function usualForm(answer: JsonObject): void {
  giveUsage(answer);
  for (const choice of objectsOf(answer['choices'])) {
    if (lengthReasons.has(choice['finish_reason'])) choice['finish_reason'] = 'length';
    if (stringOf(choice['text']) !== '') giveText(choice);
    const { message, delta } = choice;
    for (const part of [message, delta]) {
      if (!isObject(part)) continue;
      if (isObject(part['tool_calls'])) part['tool_calls'] = [part['tool_calls']];
    }
    if (isObject(message)) joinParts(message, false);
  }
}

function giveText(choice: JsonObject): void {
  const { text, message, delta } = choice;
  const part = isObject(message) ? message : isObject(delta) ? delta : { role: 'assistant' };
  if (part === message || part !== delta) choice['message'] = part;
  part['content'] ||= text ?? '';
  delete choice['text'];
}

/** Counts of tokens, and the names of their parts in other APIs: that of Anthropic counts the cached parts of a prompt apart. */
const countNames = [
  ['prompt_tokens', ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']],
  ['completion_tokens', ['output_tokens']],
  ['total_tokens', []],
] as const;

/** Groq has them in a member of its own. A report of no tokens, which some servers send last, is none. */
function giveUsage(answer: JsonObject): void {
  const { x_groq: groq } = answer;
  const usage = answer['usage'] ?? (isObject(groq) ? groq['usage'] : undefined);
  if (!isObject(usage)) return;
  for (const [name, otherNames] of countNames) {
    const sum = () => otherNames.reduce((all, other) => all + (numberOf(usage[other]) ?? 0), 0);
    const count = numberOf(usage[name]) || sum();
    if (count) usage[name] = count;
  }
  const isEmpty = countNames.every(([name]) => !usage[name]);
  answer['usage'] = isEmpty ? null : usage;
}

/**
 * @param isPiece whether the content must be a text. That of a message may have parts if none is thinking
 * @returns whether it has changed
 */
function joinParts(part: JsonObject, isPiece: boolean): boolean {
  const { content } = part;
  if (!Array.isArray(content)) return false;
  const parts = content
    .map((item) => (typeof item === 'string' ? { type: 'text', text: item } : item))
    .filter(isObject);
  const thoughts = parts.filter(({ type }) => type === 'thinking');
  if (!isPiece && thoughts.length === 0) return false;
  const texts = parts.filter(({ type }) => type === 'text');
  const others = parts.filter(({ type }) => type !== 'text' && type !== 'thinking');
  const isText = isPiece || others.length === 0;
  part['content'] = isText
    ? texts.map(({ text }) => stringOf(text)).join('')
    : parts.filter((item) => !thoughts.includes(item));
  if (isPiece) Object.assign(part, withParts(part, others));
  if (thoughts.length > 0) {
    part['reasoning_content'] ??= thoughts.map(thoughtText).join('');
    part['reasoning_details'] ??= thoughts.map(toDetail);
  }
  return true;
}

function thoughtText({ thinking }: JsonObject): string {
  const texts = objectsOf(thinking).map(({ text }) => stringOf(text));
  return Array.isArray(thinking) ? texts.join('') : stringOf(thinking);
}

/** The format of details of reasoning that their upstream has, and wants back, in a content. */
const contentFormat = 'content-part';

/** The member that a client returns in the next turn. Its thinking is a text, so that the pieces of a stream can be joined. */
function toDetail(thought: JsonObject): JsonObject {
  const { thinking, ...members } = thought;
  const isText = objectsOf(thinking).every(({ type }) => type === 'text');
  return { ...members, thinking: isText ? thoughtText(thought) : (thinking ?? ''), format: contentFormat };
}

/** Changes the JSON of a message of the conversation: thinking of such an upstream becomes the beginning of its content again. */
export function giveBack(message: JsonObject): void {
  const { reasoning_details: details, content } = message;
  const thoughts = objectsOf(details).filter(({ format }) => format === contentFormat);
  if (message['role'] !== 'assistant' || thoughts.length === 0) return;
  delete message['reasoning_details'];
  delete message['reasoning_content'];
  const parts = Array.isArray(content) ? content : content ? [{ type: 'text', text: content }] : [];
  message['content'] = [...thoughts.map(toThought), ...parts];
}

function toThought({ format: _, index: __, thinking, ...members }: JsonObject): JsonObject {
  const text = stringOf(thinking);
  return { ...members, thinking: Array.isArray(thinking) ? thinking : [{ type: 'text', text }] };
}

interface ChoiceSoFar {
  /** Members of its deltas that had a value. */
  readonly members: Set<string>;
  /** Those of its messages. */
  readonly written: Set<string>;
  /** The text of its messages. */
  text: string;
}

/**
 * Chunks with a list of parts as content, or with `message` in place of `delta`: some servers send each piece so, others repeat the
 * whole answer so at the end, which must not be doubled.
 */
export class MessageChunks {
  readonly #choices = new Map<number, ChoiceSoFar>();
  #areThere = false;

  /** Whether the stream has such chunks, so that each must be parsed. */
  get areThere(): boolean {
    return this.#areThere;
  }

  /** Changes the JSON of a chunk. */
  give(chunk: JsonObject): void {
    for (const choice of objectsOf(chunk['choices'])) {
      const { index, delta, message } = choice;
      const soFar = this.#choiceOf(typeof index === 'number' ? index : 0);
      if (isObject(delta)) {
        if (joinParts(delta, true)) this.#areThere = true;
        noteMembers(delta, soFar.members);
      }
      if (!isObject(message)) continue;
      this.#areThere = true;
      joinParts(message, true);
      delete choice['message'];
      const piece = pieceOf(message, soFar, stringOf(choice['finish_reason']) !== '');
      choice['delta'] = { ...piece, ...(isObject(delta) && delta) };
    }
  }

  #choiceOf(index: number): ChoiceSoFar {
    const soFar = this.#choices.get(index) ?? { members: new Set(), written: new Set(), text: '' };
    this.#choices.set(index, soFar);
    return soFar;
  }
}

function noteMembers(delta: JsonObject, members: Set<string>): void {
  for (const [name, value] of Object.entries(delta)) {
    const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) members.add(name);
  }
}

/** The members of a message that the stream did not have before. @param isLast whether the choice ends with it */
function pieceOf(message: JsonObject, soFar: ChoiceSoFar, isLast: boolean): JsonObject {
  const { members, written } = soFar;
  const text = members.has('content') ? '' : stringOf(message['content']);
  // A piece that is all of the text before, once more.
  const isRepeated = isLast && text !== '' && text === soFar.text;
  const isNew = ([name]: readonly [string, unknown]) =>
    !members.has(name) && !(isRepeated && written.has(name));
  const piece = Object.fromEntries(Object.entries(message).filter(isNew));
  noteMembers(piece, written);
  soFar.text += text;
  return piece;
}

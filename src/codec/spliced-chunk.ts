/**
 * Chunks of a stream that differ only in a few strings. The JSON around those strings is parsed and written once for all
 * of them.
 */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletionChunk, Usage } from '../../gen/parley/chat/v1/chat_pb.ts';
import type { AnswerHead, ChatChunk, ChoiceState } from '../core/entities/chat-answer.ts';
import type { ChatOutput } from '../core/entities/chat-output.ts';
import { isObject } from '../core/values/json.ts';
import { chunkCodec } from './chat-answer.ts';
import { parseJson } from './parse-json.ts';

const ascii = { space: 0x20, quote: 0x22, backslash: 0x5c } as const;

/** Members whose strings differ between chunks: text of the model, and padding of random length. */
const changingMember =
  /"(?:content|reasoning_content|reasoning|refusal|arguments|text|obfuscation|p)"\s*:\s*"/g;
/** Longer chunks are not learned, as a layout keeps its JSON. */
const lengthMax = 4_096;
/** Stands for a string while a layout is learned. No upstream can know it. */
const mark = randomUUID();

type Places = ReturnType<typeof findStrings>;

/** The JSON for a client, equal to that of `chunkCodec`. @param withUsage whether `usage` is null where it is absent */
export function chunkJson(chunk: ChatChunk, withUsage: boolean): string {
  return chunk instanceof SplicedChunk ? chunk.toJson(withUsage) : encoded(chunk, withUsage);
}

function encoded(chunk: ChatChunk, withUsage: boolean): string {
  const json = chunkCodec.encode(chunk);
  if (withUsage) json['usage'] ??= null;
  return JSON.stringify(json);
}

/** The JSON of a chunk around the strings that change. */
export class ChunkLayout {
  /** The texts before, between and after the strings, without their characters but with their quotes. */
  readonly #received: readonly string[];
  /** The index of the string that is the whole text of the chunk. */
  readonly #textAt: number;
  /** Shared by all chunks of the layout. */
  readonly choices: readonly ChoiceState[];
  #sent:
    | { readonly head: AnswerHead; readonly withUsage: boolean; readonly texts: readonly string[] }
    | undefined;
  #message:
    | { readonly head: AnswerHead; readonly marked: ChatCompletionChunk; readonly places: Places }
    | undefined;

  private constructor(received: readonly string[], textAt: number, choices: readonly ChoiceState[]) {
    this.#received = received;
    this.#textAt = textAt;
    this.choices = choices;
  }

  /** The layout of a chunk; undefined unless its text is one string, or if it reports usage. */
  static of(data: string): ChunkLayout | undefined {
    if (data.length > lengthMax) return undefined;
    // A copy, as parts of a string keep all bytes alive that arrived with it.
    const received = splitStrings(Buffer.from(data).toString());
    const marks = marksFor(received);
    if (marks.length === 0) return undefined;
    const chunk = markedChunk(received);
    const { text, isOpaque } = chunk.output;
    const textAt = marks.indexOf(text);
    if (
      textAt < 0 ||
      isOpaque ||
      chunk.takeUsage() ||
      splitMarks(encoded(chunk, false), marks) === undefined
    ) {
      return undefined;
    }
    return new ChunkLayout(received, textAt, chunk.choices);
  }

  /** The chunk with this JSON; undefined if it has another layout. */
  read(data: string): ChatChunk | undefined {
    const received = this.#received;
    const [first = ''] = received;
    if (data.slice(0, first.length) !== first) return undefined;
    const strings: string[] = [];
    let content = '';
    let at = first.length;
    for (let index = 1; index < received.length; index++) {
      const end = endOfString(data, at);
      const after = received[index] ?? '';
      if (end < 0 || data.slice(end, end + after.length) !== after) return undefined;
      let string = data.slice(at, end);
      const text = unescaped(string);
      if (text === undefined) return undefined;
      if (text !== string) string = JSON.stringify(text).slice(1, -1);
      if (index - 1 === this.#textAt) content = text;
      strings.push(string);
      at = end + after.length;
    }
    return at === data.length ? new SplicedChunk(this, data, content, strings) : undefined;
  }

  /** The texts of a client's JSON around the strings. */
  sent(head: AnswerHead, withUsage: boolean): readonly string[] {
    if (this.#sent?.head !== head || this.#sent.withUsage !== withUsage) {
      const json = encoded(markedChunk(this.#received, head), withUsage);
      const texts = splitMarks(json, marksFor(this.#received));
      if (texts === undefined) throw new Error('a layout has lost its strings');
      this.#sent = { head, withUsage, texts };
    }
    return this.#sent.texts;
  }

  /** The message with these strings; undefined if a message of the schema has no place for one of them. */
  message(head: AnswerHead, strings: readonly string[]): ChatCompletionChunk | undefined {
    if (this.#message?.head !== head) {
      const marked = markedChunk(this.#received, head).message;
      this.#message = { head, marked, places: findStrings(marked, marksFor(this.#received)) };
    }
    const { marked, places } = this.#message;
    return places?.reduce((message, place, index) => {
      const string = strings[index] ?? '';
      return withString(message, place, unescaped(string) ?? string);
    }, marked);
  }
}

/** A chunk that is parsed only if more than its text is read or written. */
class SplicedChunk implements ChatChunk, ChatOutput {
  readonly text: string;
  readonly isOpaque = false;
  readonly #layout: ChunkLayout;
  readonly #data: string;
  /** The strings as JSON without quotes. */
  readonly #strings: readonly string[];
  #head: AnswerHead | undefined;
  #parsed: ChatChunk | undefined;

  constructor(layout: ChunkLayout, data: string, text: string, strings: readonly string[]) {
    this.#layout = layout;
    this.#data = data;
    this.text = text;
    this.#strings = strings;
  }

  get output(): ChatOutput {
    return this;
  }

  get hasOutput(): boolean {
    return this.text !== '' || this.#whole.output.hasOutput;
  }

  get choices(): readonly ChoiceState[] {
    return this.#layout.choices;
  }

  get other(): JsonObject | undefined {
    return this.#whole.other;
  }

  get message(): ChatCompletionChunk {
    if (this.#parsed !== undefined || this.#head === undefined) return this.#whole.message;
    return this.#layout.message(this.#head, this.#strings) ?? this.#whole.message;
  }

  setHead(head: AnswerHead): void {
    this.#head = head;
    this.#parsed?.setHead(head);
  }

  setUsage(usage: Usage): void {
    this.#whole.setUsage(usage);
  }

  takeUsage(): Usage | undefined {
    return this.#parsed?.takeUsage();
  }

  addOther(members: JsonObject): void {
    this.#whole.addOther(members);
  }

  toJson(withUsage: boolean): string {
    if (this.#parsed !== undefined || this.#head === undefined) return encoded(this.#whole, withUsage);
    const around = this.#layout.sent(this.#head, withUsage);
    let json = around[0] ?? '';
    for (let index = 1; index < around.length; index++) {
      json += `${this.#strings[index - 1]}${around[index]}`;
    }
    return json;
  }

  get #whole(): ChatChunk {
    if (this.#parsed === undefined) {
      this.#parsed = parsedChunk(this.#data, this.#head);
      // Removes a `usage` that is null.
      this.#parsed.takeUsage();
    }
    return this.#parsed;
  }
}

function parsedChunk(data: string, head: AnswerHead | undefined): ChatChunk {
  const json = parseJson(data);
  if (!isObject(json)) throw new Error('a chunk is not an object');
  const chunk = chunkCodec.decode(json);
  if (head !== undefined) chunk.setHead(head);
  return chunk;
}

/** @param head if set, the chunk is as core passes it on: with this head and without usage */
function markedChunk(received: readonly string[], head?: AnswerHead): ChatChunk {
  const marks = marksFor(received);
  const data = received.reduce((before, after, index) => before + marks[index - 1] + after);
  const chunk = parsedChunk(data, head);
  if (head !== undefined) chunk.takeUsage();
  return chunk;
}

function marksFor(received: readonly string[]): readonly string[] {
  return received.slice(1).map((_, index) => `${mark}.${index}`);
}

/** The texts around the strings that may change. Empty strings do not. */
function splitStrings(data: string): readonly string[] {
  const texts: string[] = [];
  let copied = 0;
  for (const found of data.matchAll(changingMember)) {
    const start = found.index + found[0].length;
    const end = endOfString(data, start);
    if (end <= start) continue;
    texts.push(data.slice(copied, start));
    copied = end;
  }
  return [...texts, data.slice(copied)];
}

/** The texts around the marks; undefined unless each mark occurs once, in order. */
function splitMarks(json: string, marks: readonly string[]): readonly string[] | undefined {
  if (json.split(mark).length - 1 !== marks.length) return undefined;
  const texts: string[] = [];
  let rest = json;
  for (const each of marks) {
    const at = rest.indexOf(each);
    if (at < 0) return undefined;
    texts.push(rest.slice(0, at));
    rest = rest.slice(at + each.length);
  }
  return [...texts, rest];
}

/** The index of the quote that ends the string which continues at `start`; -1 if there is none, or a control character. */
function endOfString(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code === ascii.quote) return at;
    if (code === ascii.backslash) at++;
    // Works after the end, too, where the code is not a number.
    else if (!(code >= ascii.space)) return -1;
  }
}

/** The value of a string; undefined if it has an invalid escape. */
function unescaped(string: string): string | undefined {
  if (!string.includes('\\')) return string;
  try {
    const value: unknown = JSON.parse(`"${string}"`);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

type Steps = readonly string[];

/** Where each of the strings is in a tree of plain objects and arrays; undefined unless each is there once. */
function findStrings(tree: object, strings: readonly string[]): readonly Steps[] | undefined {
  const found: Steps[] = [];
  const walk = (node: object, steps: Steps) => {
    for (const [name, value] of Object.entries(node)) {
      const index = strings.indexOf(value);
      if (index >= 0 && found[index] !== undefined) return false;
      if (index >= 0) found[index] = [...steps, name];
      else if (typeof value === 'object' && value !== null && !walk(value, [...steps, name])) return false;
    }
    return true;
  };
  return walk(tree, []) && strings.every((_, index) => found[index]) ? found : undefined;
}

/** A tree with another string in a place. Shares all parts that do not contain it. */
function withString<T extends object>(tree: T, steps: Steps, string: string): T {
  return replaced(tree, steps, 0, string) as T;
}

function replaced(node: unknown, steps: Steps, depth: number, string: string): unknown {
  const name = steps[depth];
  if (name === undefined) return string;
  if (Array.isArray(node)) {
    const copy = [...node];
    copy[Number(name)] = replaced(copy[Number(name)], steps, depth + 1, string);
    return copy;
  }
  const copy = { ...(node as Record<string, unknown>) };
  copy[name] = replaced(copy[name], steps, depth + 1, string);
  return copy;
}

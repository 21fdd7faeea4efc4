/** The items of a conversation, in the form of OpenAI's Realtime protocol, and the history that a chat gets of them. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ResponseItemSchema } from '../../../gen/parley/responses/v1/responses_pb.ts';
import type { ParleyError } from '../values/errors.ts';
import { invalidInput } from '../values/parameters.ts';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type ItemPart =
  | { readonly type: 'input_text' | 'output_text'; readonly text: string }
  /** Null until the text is known. */
  | { readonly type: 'input_audio' | 'output_audio'; readonly transcript: string | null }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail?: string };

interface ItemHead {
  readonly id: string;
  readonly object: 'realtime.item';
  readonly status: ItemStatus;
}

export interface MessageItem extends ItemHead {
  readonly type: 'message';
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly ItemPart[];
}

export interface CallItem extends ItemHead {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export type Item =
  | MessageItem
  | CallItem
  | (ItemHead & { readonly type: 'function_call_output'; readonly call_id: string; readonly output: string });

/** Speech of the assistant, and how much of it has been sent by its end. */
export interface SpokenClause {
  readonly text: string;
  readonly endMs: number;
}

interface Entry {
  item: Item;
  bytes: number;
  readonly spoken: SpokenClause[];
  /** Whether the client has cut the speech, after which nothing is added to it. */
  isCut: boolean;
}

/** Beyond either limit the oldest items are dropped. */
const itemsMax = 500;
const historyBytesMax = 512 * 1024;
/** One item, as JSON. */
const itemBytesMax = 256 * 1024;

export class History {
  #entries: Entry[] = [];
  #bytes = 0;

  /**
   * @param after the id of the item before it; `root` for none. Default: the last item
   * @returns the id of the item before it; null for none
   * @throws `invalid_input`
   */
  add(item: Item, after?: string): string | null {
    const bytes = bytesOf(item);
    if (bytes > itemBytesMax) throw invalidInput('item', `An item has at most ${itemBytesMax} bytes.`);
    if (this.has(item.id)) throw invalidInput('item.id', `There is an item \`${item.id}\` already.`);
    const at = after === undefined ? this.#entries.length : after === 'root' ? 0 : this.#indexOf(after) + 1;
    if (at === 0 && after !== undefined && after !== 'root') throw noItem(after, 'previous_item_id');
    const previous = this.#entries[at - 1]?.item.id ?? null;
    this.#entries.splice(at, 0, { item, bytes, spoken: [], isCut: false });
    this.#bytes += bytes;
    while (this.#entries.length > itemsMax || this.#bytes > historyBytesMax) this.#removeAt(0);
    return previous;
  }

  has(id: string): boolean {
    return this.#indexOf(id) >= 0;
  }

  /** @throws `invalid_input` */
  get(id: string): Item {
    const item = this.#entries[this.#indexOf(id)]?.item;
    if (item === undefined) throw noItem(id, 'item_id');
    return item;
  }

  /** Replaces the item of the same id, unless it was deleted. @returns the item as it is kept */
  replace(item: Item): Item {
    const entry = this.#entries[this.#indexOf(item.id)];
    if (entry === undefined) return item;
    const was = entry.item;
    const isCut = entry.isCut && item.type === 'message' && was.type === 'message';
    this.#set(entry, isCut ? { ...item, content: was.content } : item);
    return entry.item;
  }

  /** Notes the clause that is spoken now, or how long the last one has become. */
  noteSpoken(id: string, clause: SpokenClause, isNew: boolean): void {
    const spoken = this.#entries[this.#indexOf(id)]?.spoken;
    if (!isNew) spoken?.pop();
    spoken?.push(clause);
  }

  /** Milliseconds of the item's speech that were sent. */
  spokenMs(id: string): number {
    return this.#entries[this.#indexOf(id)]?.spoken.at(-1)?.endMs ?? 0;
  }

  /** Keeps the words of a speech that were played. @throws `invalid_input` */
  truncate(id: string, playedMs: number): void {
    const item = this.get(id);
    const entry = this.#entries[this.#indexOf(id)];
    if (entry === undefined || item.type !== 'message' || item.role !== 'assistant') {
      throw invalidInput('item_id', 'Only messages of the assistant can be truncated.');
    }
    const transcript = playedText(entry.spoken, playedMs);
    const cut = item.content.map((part) => (part.type === 'output_audio' ? { ...part, transcript } : part));
    this.#set(entry, { ...item, content: cut });
    entry.isCut = true;
  }

  /** @throws `invalid_input` */
  delete(id: string): void {
    this.get(id);
    this.#removeAt(this.#indexOf(id));
  }

  /** The latest items that fit into so many bytes of JSON, without outputs of calls that do not. */
  latest(bytesMax: number): readonly Item[] {
    let bytes = 0;
    const first = this.#entries.findLastIndex((entry) => {
      bytes += entry.bytes;
      return bytes > bytesMax;
    });
    const items = this.#entries.slice(first + 1).map(({ item }) => item);
    const calls = new Set(items.map((item) => item.type === 'function_call' && item.call_id));
    return items.filter((item) => item.type !== 'function_call_output' || calls.has(item.call_id));
  }

  #set(entry: Entry, item: Item): void {
    const bytes = bytesOf(item);
    this.#bytes += bytes - entry.bytes;
    Object.assign(entry, { item, bytes });
  }

  #indexOf(id: string): number {
    return this.#entries.findIndex(({ item }) => item.id === id);
  }

  #removeAt(at: number): void {
    const [removed] = this.#entries.splice(at, 1);
    this.#bytes -= removed?.bytes ?? 0;
  }
}

/** The words of the clauses that were played within this time. Of a clause that was cut, as many as its share. */
export function playedText(clauses: readonly SpokenClause[], playedMs: number): string {
  let startMs = 0;
  let text = '';
  for (const clause of clauses) {
    const share = (playedMs - startMs) / Math.max(1, clause.endMs - startMs);
    if (share < 1) {
      const words = clause.text.split(/(?<=\s)(?=\S)/);
      return (text + words.slice(0, Math.max(0, Math.floor(words.length * share))).join('')).trimEnd();
    }
    text += clause.text;
    startMs = clause.endMs;
  }
  return text;
}

export function toInput(item: Item): MessageInitShape<typeof ResponseItemSchema> {
  switch (item.type) {
    case 'message':
      return { type: item.type, role: item.role, content: contentOf(item.content.map(toInputPart)) };
    case 'function_call':
      return { type: item.type, callId: item.call_id, name: item.name, arguments: item.arguments };
    case 'function_call_output':
      return {
        type: item.type,
        callId: item.call_id,
        output: { value: { case: 'text', value: item.output } },
      };
  }
}

type InputPart = ReturnType<typeof toInputPart>;

function contentOf(items: readonly InputPart[]) {
  return { value: { case: 'parts' as const, value: { items: [...items] } } };
}

function toInputPart(part: ItemPart) {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: part.type, text: part.text };
    case 'input_audio':
      return { type: 'input_text', text: part.transcript ?? '' };
    case 'output_audio':
      return { type: 'output_text', text: part.transcript ?? '' };
    case 'input_image':
      return { type: part.type, imageUrl: part.image_url, ...(part.detail && { detail: part.detail }) };
  }
}

function bytesOf(item: Item): number {
  return Buffer.byteLength(JSON.stringify(item));
}

function noItem(id: string, param: string): ParleyError {
  return invalidInput(param, `The conversation has no item \`${id.slice(0, 100)}\`.`);
}

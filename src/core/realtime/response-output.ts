/** The items of a response, as they grow: a message, and calls of functions. */
import { randomUUID } from 'node:crypto';
import type { ToolCall } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ToolCalls } from '../entities/tool-calls.ts';
import { ParleyError } from '../values/errors.ts';
import type { CallItem, History, Item, MessageItem } from './items.ts';
import type { Reports } from './reports.ts';

const callsMax = 32;
/** UTF-16 code units of the names and arguments of all calls. */
const callUnitsMax = 65_536;

/** A random id of an item or a response. */
export function newRealtimeId(prefix: 'item' | 'resp' | 'call'): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

interface OutputDeps {
  readonly responseId: string;
  readonly isSpoken: boolean;
  /** Undefined if the items are not part of the conversation. */
  readonly history: History | undefined;
  readonly reports: Reports;
}

export class ResponseOutput {
  readonly items: Item[] = [];
  readonly #deps: OutputDeps;
  #message: MessageItem | undefined;
  #text = '';
  #previous: string | null | undefined;
  readonly #calls = new ToolCalls((call) => call);
  #callUnits = 0;

  constructor(deps: OutputDeps) {
    this.#deps = deps;
  }

  /** Adds text to the message, which begins with it. Its audio follows. */
  addText(text: string): void {
    const { isSpoken, reports } = this.#deps;
    const message = this.#message ?? this.#begin();
    this.#text += text;
    reports.add({ kind: 'text', ...this.#placeOf(message), text, isSpoken });
  }

  addAudio(audio: Uint8Array): void {
    if (this.#message) this.#deps.reports.add({ kind: 'speech', ...this.#placeOf(this.#message), audio });
  }

  /** Notes how much of the message's speech has been sent by the end of its last clause. */
  noteSpoken(text: string, endMs: number, isNew: boolean): void {
    if (this.#message) this.#deps.history?.noteSpoken(this.#message.id, { text, endMs }, isNew);
  }

  closeMessage(status: 'completed' | 'incomplete'): void {
    if (this.#message) this.#finish({ ...this.#message, status, content: [this.#part(this.#text)] });
  }

  /** @throws `upstream_error` for more calls, or longer ones, than a response may have */
  takeCall(piece: ToolCall): void {
    const { delta } = this.#calls.take(piece);
    this.#callUnits += (piece.function?.name?.length ?? 0) + delta.length;
    if (this.#calls.all.length > callsMax || this.#callUnits > callUnitsMax) {
      throw new ParleyError('upstream_error', { cause: new Error('too many or too long function calls') });
    }
  }

  /** The model has made its calls. */
  closeCalls(): void {
    for (const { givenId, name, text } of this.#calls.all) {
      const item: CallItem = {
        id: newRealtimeId('item'),
        object: 'realtime.item',
        type: 'function_call',
        status: 'in_progress',
        call_id: givenId || newRealtimeId('call'),
        name,
        arguments: text || '{}',
      };
      this.#add({ ...item, arguments: '' });
      this.#finish({ ...item, status: 'completed' });
    }
  }

  #begin(): MessageItem {
    const head = { id: newRealtimeId('item'), object: 'realtime.item', type: 'message' } as const;
    this.#message = { ...head, status: 'in_progress', role: 'assistant', content: [this.#part('')] };
    this.#add(this.#message);
    return this.#message;
  }

  #part(text: string) {
    const { isSpoken } = this.#deps;
    return isSpoken
      ? { type: 'output_audio' as const, transcript: text }
      : { type: 'output_text' as const, text };
  }

  #add(item: Item): void {
    const { history, reports } = this.#deps;
    this.items.push(item);
    this.#previous = history?.add(item);
    reports.add({ kind: 'output', ...this.#placeOf(item), previous: this.#previous });
  }

  #finish(item: Item): void {
    const { history, reports } = this.#deps;
    const place = this.#placeOf(item);
    const kept = history?.replace(item) ?? item;
    this.items[place.index] = kept;
    reports.add({ kind: 'output_done', ...place, item: kept, previous: this.#previous });
  }

  #placeOf(item: Item) {
    const index = this.items.findIndex(({ id }) => id === item.id);
    return { responseId: this.#deps.responseId, index, item };
  }
}

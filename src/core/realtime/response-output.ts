/** The items of a response, a message and calls of functions, and their events in OpenAI's Realtime protocol. */
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
    const message = this.#message ?? this.#begin();
    this.#text += text;
    const form = this.#deps.isSpoken ? 'output_audio_transcript' : 'output_text';
    this.#emit(`${form}.delta`, { ...this.#partOf(message), delta: text });
  }

  addAudio(audio: Uint8Array): void {
    if (this.#message === undefined) return;
    const delta = Buffer.from(audio).toString('base64');
    this.#emit('output_audio.delta', { ...this.#partOf(this.#message), delta });
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
      this.#emitCall(item);
      this.#finish({ ...item, status: 'completed' });
    }
  }

  #begin(): MessageItem {
    const head = { id: newRealtimeId('item'), object: 'realtime.item', type: 'message' } as const;
    this.#message = { ...head, status: 'in_progress', role: 'assistant', content: [this.#part('')] };
    this.#add(this.#message, { ...this.#message, content: [] });
    this.#emit('content_part.added', { ...this.#partOf(this.#message), part: this.#shownPart('') });
    return this.#message;
  }

  #part(text: string) {
    return this.#deps.isSpoken
      ? { type: 'output_audio' as const, transcript: text }
      : { type: 'output_text' as const, text };
  }

  /** Events of parts have other types than items. */
  #shownPart(text: string) {
    return this.#deps.isSpoken ? { type: 'audio', transcript: text } : { type: 'text', text };
  }

  /** @param shown the item as its events have it */
  #add(item: Item, shown = item): void {
    this.items.push(item);
    this.#previous = this.#deps.history?.add(item);
    this.#emit('output_item.added', { ...this.#placeOf(item), item: shown });
    this.#emitPlaced('added', shown);
  }

  #finish(item: Item): void {
    const kept = this.#deps.history?.replace(item) ?? item;
    const place = this.#placeOf(item);
    this.items[place.output_index] = kept;
    if (kept.type === 'message') this.#emitMessageDone(kept);
    this.#emitPlaced('done', kept);
    this.#emit('output_item.done', { ...place, item: kept });
  }

  #emitMessageDone(message: MessageItem): void {
    const at = this.#partOf(message);
    const [part] = message.content;
    const text =
      (part?.type === 'output_audio' ? part.transcript : part?.type === 'output_text' && part.text) || '';
    if (this.#deps.isSpoken) {
      this.#emit('output_audio.done', at);
      this.#emit('output_audio_transcript.done', { ...at, transcript: text });
    } else this.#emit('output_text.done', { ...at, text });
    this.#emit('content_part.done', { ...at, part: this.#shownPart(text) });
  }

  #emitCall(item: CallItem): void {
    const { call_id, name, arguments: given } = item;
    const called = { ...this.#placeOf(item), item_id: item.id, call_id, name };
    this.#emit('function_call_arguments.delta', { ...called, delta: given });
    this.#emit('function_call_arguments.done', { ...called, arguments: given });
  }

  /** Only for items that are part of the conversation. */
  #emitPlaced(what: 'added' | 'done', item: Item): void {
    if (this.#previous === undefined) return;
    const event = { type: `conversation.item.${what}`, previous_item_id: this.#previous, item };
    this.#deps.reports.add({ kind: 'event', event });
  }

  #emit(type: string, members: object): void {
    this.#deps.reports.add({ kind: 'event', event: { type: `response.${type}`, ...members } });
  }

  #placeOf({ id }: Item) {
    const output_index = this.items.findIndex((item) => item.id === id);
    return { response_id: this.#deps.responseId, output_index };
  }

  #partOf(message: MessageItem) {
    return { ...this.#placeOf(message), item_id: message.id, content_index: 0 };
  }
}

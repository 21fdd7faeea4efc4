/** Events of clients, and their members. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Item, ItemPart } from '../../core/realtime/items.ts';
import { newRealtimeId } from '../../core/realtime/response-output.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';
import { invalidInput } from '../../core/values/parameters.ts';
import { restMessage } from '../rest/errors.ts';

export interface ClientEvent extends JsonObject {
  readonly type: string;
}

export function hasType(event: JsonObject | undefined): event is ClientEvent {
  return typeof event?.['type'] === 'string';
}

/** Node skips characters that are not base64, and stops at the first `=`. @throws `invalid_input` */
export function audioOf(audio: unknown): Uint8Array {
  if (typeof audio !== 'string') throw invalidInput('audio', '`audio` is base64.');
  const text = /\s/.test(audio) ? audio.replace(/\s/g, '') : audio;
  const bytes = Buffer.from(text, 'base64');
  if (text.length % 4 !== 1 && bytes.length === Buffer.byteLength(text, 'base64')) return bytes;
  throw invalidInput('audio', '`audio` has characters that are not base64.');
}

/** The member, if it is there. A `null` counts as absent. @throws `invalid_input` for another type */
export function textOf(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalidInput(name, `\`${name}\` is a text.`);
  return value;
}

/** @throws `invalid_input` */
export function requiredText(object: JsonObject, name: string): string {
  const value = textOf(object, name);
  if (!value) throw invalidInput(name, `Send \`${name}\`.`);
  return value;
}

const roles = ['user', 'assistant', 'system'] as const;

/** @throws `invalid_input` for an item that a conversation cannot hold */
export function readItem(given: JsonValue | undefined): Item {
  if (!isObject(given)) throw invalidInput('item', '`item` is an object.');
  const id = textOf(given, 'id') ?? newRealtimeId('item');
  if (id.length > 100) throw invalidInput('item.id', '`item.id` has at most 100 characters.');
  const head = { id, object: 'realtime.item', status: 'completed' } as const;
  switch (given['type']) {
    case 'message': {
      const role = roles.find((known) => known === given['role']);
      if (role === undefined) throw invalidInput('item.role', `\`item.role\` is one of ${roles.join(', ')}.`);
      return { ...head, type: 'message', role, content: readParts(given['content']) };
    }
    case 'function_call': {
      const called = { call_id: requiredText(given, 'call_id'), name: requiredText(given, 'name') };
      return { ...head, type: 'function_call', ...called, arguments: textOf(given, 'arguments') ?? '{}' };
    }
    case 'function_call_output': {
      const output = textOf(given, 'output') ?? '';
      return { ...head, type: 'function_call_output', call_id: requiredText(given, 'call_id'), output };
    }
  }
  throw invalidInput('item.type', '`item.type` is message, function_call or function_call_output.');
}

function readParts(content: JsonValue | undefined): ItemPart[] {
  if (!Array.isArray(content)) throw invalidInput('item.content', '`item.content` is a list of parts.');
  return content.map((part) => readPart(isObject(part) ? part : {}));
}

function readPart(part: JsonObject): ItemPart {
  const { type } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: type === 'input_text' ? type : 'output_text', text: textOf(part, 'text') ?? '' };
    case 'input_image': {
      const detail = textOf(part, 'detail');
      return { type, image_url: requiredText(part, 'image_url'), ...(detail && { detail }) };
    }
    case 'input_audio':
    case 'output_audio':
    case 'audio': {
      const transcript = textOf(part, 'transcript');
      if (transcript === undefined) break;
      return { type: type === 'input_audio' ? type : 'output_audio', transcript };
    }
  }
  throw invalidInput(
    'item.content',
    'Parts are input_text, output_text, input_image with an image_url, or audio with its `transcript`. Send audio with input_audio_buffer.append.',
  );
}

/** An error with a code on which OpenAI's clients depend. */
export class RealtimeError extends ParleyError {
  readonly realtimeCode: string;

  constructor(realtimeCode: string, message: string, param?: string) {
    super('invalid_input', { message, ...(param !== undefined && { param }) });
    this.realtimeCode = realtimeCode;
  }
}

/** @param error the description of an `error` event, and of a turn or a response that failed */
export function describeError(error: ParleyError) {
  const type = error.httpStatus >= 500 ? 'server_error' : 'invalid_request_error';
  const code = error instanceof RealtimeError ? error.realtimeCode : error.code;
  return { type, code, message: restMessage(error), param: error.param ?? null };
}

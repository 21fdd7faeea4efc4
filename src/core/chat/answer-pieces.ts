/** Reads a piece of an answer for APIs that have items or blocks where a chat has members. */
import { create, type JsonValue } from '@bufbuild/protobuf';
import { type ChatDelta, type ToolCall, ToolCallSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { isObject } from '../values/json.ts';

export interface AnswerPiece {
  /** Also what is said in audio, and the addresses of images. */
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Each image in Base64. */
  readonly images: readonly string[];
  /** The next piece of the audio, in Base64. */
  readonly audio: string;
  /** Whether there are other parts that are no text. */
  readonly hasMore: boolean;
}

export function pieceOf({ content = '', toolCalls, other = {} }: ChatDelta): AnswerPiece {
  const { images, image, audio, parts } = other;
  const others = listOf(parts);
  const pictures = [...listOf(images), ...listOf(image)].map(addressIn).filter((address) => address !== '');
  const [linked, embedded] = [pictures.filter(isLink), pictures.filter((address) => !isLink(address))];
  const sounds = [audio, ...others].map(soundIn);
  const said = content === '' ? sounds.map(({ transcript }) => transcript) : [];
  return {
    text: [content, ...said, ...linked.map((url) => `![image](${url})`)].join(''),
    calls: [...toolCalls, ...legacyCall(other['function_call'])],
    images: embedded.map((address) => address.replace(/^data:[^,]*,/, '')),
    audio: sounds.map(({ data }) => data).join(''),
    hasMore: others.some((part) => soundIn(part).data === ''),
  };
}

/** Stands in an answer for what its API has no place for. */
export const partLeftOut =
  '[A part of this answer that is no text is left out here: use chat completions for it.]';

/** Servers from before the tools send at most one call, without an id. */
function legacyCall(call: JsonValue | undefined): ToolCall[] {
  if (!isObject(call)) return [];
  const called = { name: textIn(call['name']), arguments: textIn(call['arguments']) };
  return [create(ToolCallSchema, { type: 'function', function: called })];
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : value == null ? [] : [value];
}

function textIn(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isLink(address: string): boolean {
  return /^https?:/.test(address);
}

/** The address or the Base64 of an image, in whatever form it comes. */
function addressIn(image: JsonValue | undefined): string {
  if (!isObject(image)) return textIn(image);
  const { image_url: inner, url, b64_json: base64, data } = image;
  return addressIn(inner ?? url ?? base64 ?? data);
}

/** Audio as a text, or the audio that an object or a part has. */
function soundIn(sound: JsonValue | undefined): { readonly data: string; readonly transcript: string } {
  if (typeof sound === 'string') return { data: sound.replace(/^data:[^,]*,/, ''), transcript: '' };
  if (!isObject(sound)) return { data: '', transcript: '' };
  const inner = sound['input_audio'] ?? sound['output_audio'] ?? sound['audio'];
  if (inner !== undefined) return soundIn(inner);
  return { data: textIn(sound['data']), transcript: textIn(sound['transcript']) };
}

/** Base64 of pieces that servers may have padded each for itself. */
export function joinedBase64(pieces: string): string {
  if (!/=[^=]/.test(pieces)) return pieces;
  const parts = pieces.split(/(?<==)(?=[^=])/);
  return Buffer.concat(parts.map((part) => Buffer.from(part, 'base64'))).toString('base64');
}

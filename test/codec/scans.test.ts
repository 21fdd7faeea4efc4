import { create, type JsonValue, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TranscriptSegmentSchema } from '../../gen/parley/audio/v1/transcription_pb.ts';
import { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { JsonScan } from '../../src/codec/json-scan.ts';
import { scanMessage } from '../../src/codec/message-scan.ts';

/** The exact limits that a document needs. */
interface Size {
  elements: number;
  levels: number;
}

function sizeOf(json: JsonValue): Size {
  if (typeof json !== 'object' || json === null) return { elements: 0, levels: 0 };
  const members = Object.values(json).map(sizeOf);
  const commas = Math.max(0, members.length - 1);
  return {
    elements: members.reduce((sum, { elements }) => sum + elements, 1 + commas),
    levels: 1 + Math.max(0, ...members.map(({ levels }) => levels)),
  };
}

/** Scans a text in pieces of a few bytes. */
function scanJson(text: string, { elements, levels }: Size, pieceBytes: number) {
  const scan = new JsonScan({ elementsMax: elements, levelsMax: levels });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const excess = scan.read(bytes.subarray(at, at + pieceBytes));
    if (excess !== undefined) return excess;
  }
  return undefined;
}

describe('the scan of a JSON text', () => {
  it('accepts every document within its limits, and none over them, however it is cut', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 9 }), (value, pieceBytes) => {
        const json = value as JsonValue;
        const text = JSON.stringify(json);
        const size = sizeOf(json);
        expect(scanJson(text, size, pieceBytes)).toBeUndefined();
        if (size.elements > 0) {
          expect(scanJson(text, { ...size, elements: size.elements - 1 }, pieceBytes)).toBe('elementsMax');
          expect(scanJson(text, { ...size, levels: size.levels - 1 }, pieceBytes)).toBe('levelsMax');
        }
      }),
    );
  });

  it('counts the members of each object separately', () => {
    const object = (members: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: members }, (_, at) => [`m${at}`, [0, 0, {}]])));
    const scan = (text: string) =>
      new JsonScan({ elementsMax: 1000, levelsMax: 9, membersMax: 5 }).read(Buffer.from(text));
    expect(scan(`[${object(5)},${object(5)},{"x":${object(5)}},0,0,0,0,0,0]`)).toBeUndefined();
    expect(scan(`{"x":[],"y":${object(5)}}`)).toBeUndefined();
    expect(scan(`[0,${object(6)}]`)).toBe('membersMax');
    expect(scan(`{"x":${object(6)}}`)).toBe('membersMax');
    expect(scan(']]],,,,,,,,')).toBeUndefined();
  });

  it('counts nothing inside strings', () => {
    const text = JSON.stringify({ 'a[{,': '[{,"\\', b: '\\"[[[' });
    for (const pieceBytes of [1, 2, 3, 100]) {
      expect(scanJson(text, { elements: 2, levels: 1 }, pieceBytes)).toBeUndefined();
    }
  });
});

const scanParams = (bytes: Uint8Array, elementsMax = 100, levelsMax = 100) =>
  scanMessage(ChatCompletionParamsSchema, bytes, { elementsMax, levelsMax });

const scanStrictly = (bytes: Uint8Array) => () =>
  scanMessage(ChatCompletionParamsSchema, bytes, { elementsMax: 100, levelsMax: 100, isStrict: true });

const unknown = [0xf8, 0x3f, 1];
const { number: mapNumber } = ChatCompletionParamsSchema.field.metadata;
/** A field whose content has a length. */
const field = (number: number, ...content: number[][]) => {
  const bytes = content.flat();
  const tag = number * 8 + 2;
  return [...(tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7]), bytes.length, ...bytes];
};

const encodeParams = (init: MessageInitShape<typeof ChatCompletionParamsSchema>) =>
  toBinary(ChatCompletionParamsSchema, create(ChatCompletionParamsSchema, init));

describe('the scan of a message', () => {
  it.each<[string, Uint8Array, number, number]>([
    ['four single values as one', encodeParams({ model: 'm', n: 1, logprobs: true, topP: 1 }), 1, 1],
    ['strings in a list', encodeParams({ modalities: ['a', 'b'] }), 2, 1],
    ['messages in a list', encodeParams({ messages: [{ role: 'a' }, { role: 'b' }] }), 2.5, 2],
    ['the entries of a map, each with key and value', encodeParams({ metadata: { a: '1', b: '2' } }), 3, 2],
    // The sizes of the object, an entry with its key, its value, the list in that, and two values in the list with a
    // number each.
    ['JSON within messages', encodeParams({ other: { x: [1, 2] } }), 6.75, 6],
    ['unknown fields', Buffer.from([0xf8, 0x3f, 1, 0xf8, 0x3f, 2]), 2, 1],
    ['groups', Buffer.from([0xf3, 0x3f, 0xf8, 0x3f, 1, 0xf4, 0x3f]), 2, 2],
  ])('counts %s', (_, bytes, elements, levels) => {
    expect(scanParams(bytes, elements, levels)).toBeUndefined();
    expect(scanParams(bytes, elements - 0.25, levels)).toBe('elementsMax');
    expect(scanParams(bytes, elements, levels - 1)).toBe('levelsMax');
  });

  it('counts the entries of each map separately', () => {
    const map = (entries: number) =>
      Object.fromEntries(Array.from({ length: entries }, (_, at) => [`m${at}`, 0]));
    const scan = (bytes: Uint8Array) =>
      scanMessage(ChatCompletionParamsSchema, bytes, { elementsMax: 1000, levelsMax: 100, membersMax: 5 });
    expect(scan(encodeParams({ other: map(5), logitBias: map(5), messages: [{ other: map(5) }] }))).toBe(
      undefined,
    );
    expect(scan(encodeParams({ other: map(6) }))).toBe('membersMax');
    expect(scan(encodeParams({ messages: [{ other: { x: map(6) } }] }))).toBe('membersMax');
  });

  it('counts the numbers of a packed list', () => {
    const tokens = Array.from({ length: 50 }, (_, index) => index);
    const bytes = toBinary(TranscriptSegmentSchema, create(TranscriptSegmentSchema, { tokens }));
    const scan = (elementsMax: number) =>
      scanMessage(TranscriptSegmentSchema, bytes, { elementsMax, levelsMax: 1 });
    expect(scan(60)).toBeUndefined();
    expect(scan(50)).toBe('elementsMax');
  });

  it.each([
    ['a field that ends after the message', [0x0a, 5, 0x61]],
    ['a number that does not end', [0x20, 0x80]],
    ['a known field of another type, which decoders read in their own ways', [0x10, 2, 0x12, 0]],
    ['a group that ends without a beginning', [0xf4, 0x3f]],
    ['a group in the place of a known field', [0x13, 0x14]],
  ])('throws on %s', (_, bytes) => {
    expect(() => scanParams(Buffer.from(bytes))).toThrow();
  });

  it.each([
    ['at the top', [0xf8, 0x3f, 1], '1023'],
    ['in a list', [...field(2, field(1, []), unknown)], 'messages.1023'],
    ['as a group', [0xf3, 0x3f, 0xf4, 0x3f], '1022'],
    ['in the entry of a map', [...field(mapNumber, field(1, [0x61]), unknown)], 'metadata.1023'],
  ])('refuses an unknown field %s where it is strict', (_, bytes, param) => {
    expect(scanParams(Buffer.from(bytes))).toBeUndefined();
    expect(scanStrictly(Buffer.from(bytes))).toThrow(
      expect.objectContaining({ code: 'invalid_parameter', param }),
    );
  });
});

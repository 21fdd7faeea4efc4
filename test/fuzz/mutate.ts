import type { Random } from '../support/random.ts';

const bytesMax = 16_384;
const changesMax = 6;
/** Numbers at the limits of their types. */
const edges = [0, 1, 0x0a, 0x0d, 0x20, 0x22, 0x7f, 0x80, 0xc0, 0xff];

/** Changes an input in a few places: bytes, ranges, words of the format, pieces of another input. */
export function mutate(input: Buffer, other: Buffer, words: readonly Buffer[], random: Random): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let changes = random.between(1, changesMax); changes > 0; changes--) {
    const at = random.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + random.below(random.onceIn(4) ? bytes.length + 1 : 16));
    bytes = random.pick(changesOf)({ bytes, at, end, other, words, random });
  }
  return bytes.subarray(0, bytesMax);
}

interface Place {
  readonly bytes: Buffer;
  readonly at: number;
  readonly end: number;
  readonly other: Buffer;
  readonly words: readonly Buffer[];
  readonly random: Random;
}

const replaced = ({ bytes, at, end }: Place, by: Buffer) =>
  Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(end)]);
const oneByte = (place: Place, value: number) =>
  replaced({ ...place, end: Math.min(place.at + 1, place.bytes.length) }, Buffer.from([value]));

const changesOf: readonly ((place: Place) => Buffer)[] = [
  (place) => oneByte(place, place.random.below(256)),
  (place) => oneByte(place, place.random.pick(edges)),
  (place) => oneByte(place, (place.bytes[place.at] ?? 0) ^ (1 << place.random.below(8))),
  (place) => replaced(place, Buffer.alloc(0)),
  (place) => replaced({ ...place, end: place.at }, place.bytes.subarray(place.at, place.end)),
  (place) =>
    replaced({ ...place, end: place.at }, Buffer.alloc(place.random.below(300), place.random.pick(edges))),
  (place) => {
    const start = place.random.below(place.other.length + 1);
    return replaced(place, place.other.subarray(start, start + place.random.below(200)));
  },
  (place) => (place.words.length === 0 ? place.bytes : replaced(place, place.random.pick(place.words))),
  (place) => place.bytes.subarray(0, place.at),
];

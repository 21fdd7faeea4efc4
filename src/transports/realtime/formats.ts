/** The audio formats of OpenAI's Realtime protocol. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { AudioEncoding } from '../../core/entities/live.ts';
import { isObject } from '../../core/values/json.ts';
import { invalid } from './errors.ts';

export interface Format {
  readonly type: string;
  readonly rate: number;
  readonly encoding: AudioEncoding;
}

export const pcm: Format = { type: 'audio/pcm', rate: 24_000, encoding: 'pcm16' };
const formats: readonly Format[] = [
  pcm,
  { type: 'audio/pcmu', rate: 8_000, encoding: 'mulaw' },
  { type: 'audio/pcma', rate: 8_000, encoding: 'alaw' },
];
/** The names of the beta. */
const betaNames: Readonly<Record<string, string>> = {
  pcm16: 'audio/pcm',
  g711_ulaw: 'audio/pcmu',
  g711_alaw: 'audio/pcma',
};

/** @returns undefined if none is given. @throws `invalid_input` */
export function formatOf(given: JsonValue | undefined): Format | undefined {
  if (given === undefined || given === null) return undefined;
  const name = isObject(given) ? given['type'] : betaNames[String(given)];
  const known = formats.find(({ type }) => type === name);
  if (known === undefined)
    throw invalid('format', '`format` takes `audio/pcm`, `audio/pcmu` or `audio/pcma`.');
  const rate = isObject(given) ? (given['rate'] ?? known.rate) : known.rate;
  if (rate !== known.rate) throw invalid('rate', `\`${known.type}\` has a rate of ${known.rate}.`);
  return known;
}

export function formatJson(encoding: AudioEncoding): JsonObject {
  const { type, rate } = formats.find((format) => format.encoding === encoding) ?? pcm;
  return type === pcm.type ? { type, rate } : { type };
}

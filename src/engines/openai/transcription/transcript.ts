/** Reads an upstream's transcript and ignores impossible times. */

import { numberOf, textOf } from '../../../codec/shape.ts';
import type { SegmentDetails, TranscriptSegment, TranscriptWord } from '../../../core/entities/engine.ts';
import { isObject } from '../../../core/values/json.ts';
import { malformedResponse } from '../errors.ts';

/** Longer durations are ignored. So are later times if the length of the audio is unknown. */
const audioMsMax = 24 * 60 * 60 * 1000;

export interface UpstreamTranscript {
  /** Empty for silence. */
  readonly text: string;
  /** Empty if the upstream sends no times or impossible ones. */
  readonly segments: readonly TranscriptSegment[];
  /** An English name; undefined if the upstream names none. */
  readonly language: string | undefined;
  /** The length of the audio; undefined if the upstream sends none or an impossible one. */
  readonly reportedMs: number | undefined;
}

/**
 * Reads an answer in `json` or `verbose_json`.
 * @param probedMs the length of the audio by its container, if known
 * @throws `upstream_error` if it has no text
 */
export function readTranscript(json: unknown, probedMs: number | undefined): UpstreamTranscript {
  if (!isObject(json)) throw malformedResponse('the transcript is not a JSON object');
  const given = typeof json['text'] === 'string' ? json['text'].trim() : undefined;
  const reportedMs = readReportedMs(json);
  const audioMs = Math.max(probedMs ?? 0, reportedMs ?? 0) || audioMsMax;
  const segments = readSegments(json, given, audioMs);
  if (given === undefined && segments.length === 0) throw malformedResponse('the transcript has no text');
  return {
    text: given || segments.map(({ text }) => text).join(' '),
    segments,
    language: languageName(textOf(json['language'])),
    reportedMs,
  };
}

/** From `duration`, or from `usage.seconds`. */
function readReportedMs({ duration, usage }: Readonly<Record<string, unknown>>): number | undefined {
  const seconds = numberOf(duration) ?? (isObject(usage) ? numberOf(usage['seconds']) : undefined);
  const reportedMs = (seconds ?? 0) * 1000;
  return reportedMs > 0 && reportedMs <= audioMsMax ? reportedMs : undefined;
}

/** Recognisers may put an end in the padding after the audio. */
const paddingMs = 60_000;
const jitterMs = 1_000;

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * The segments of a `verbose_json` answer in order of time, each with its words. None if one lacks a text or has an
 * impossible time. Words without segments make one segment.
 *
 * @param audioMs the length of the audio, or its upper bound if unknown
 */
function readSegments(
  answer: Readonly<Record<string, unknown>>,
  text: string | undefined,
  audioMs: number,
): TranscriptSegment[] {
  const endMsMax = audioMs + paddingMs;
  const given = listOf(answer['segments']);
  const segments = all(given, (entry) => readSegment(entry, endMsMax)) ?? [];
  const words = all(wordsOf(answer, given), (entry) => readWord(entry, endMsMax)) ?? [];
  const spoken = segments.filter((segment) => segment.text !== '').sort(byStart);
  words.sort(byStart);
  return spoken.length > 0 ? withWords(spoken, words) : oneSegment(words, text);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function wordsOf(
  answer: Readonly<Record<string, unknown>>,
  segments: readonly unknown[],
): readonly unknown[] {
  const words = listOf(answer['words']);
  if (words.length > 0) return words;
  return segments.flatMap((segment) => (isObject(segment) ? listOf(segment['words']) : []));
}

/** Undefined if an entry cannot be read. */
function all<T>(entries: readonly unknown[], read: (entry: unknown) => T | undefined): T[] | undefined {
  const values: T[] = [];
  for (const entry of entries) {
    const value = read(entry);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values;
}

function readSegment(entry: unknown, endMsMax: number): TranscriptSegment | undefined {
  if (!isObject(entry) || typeof entry['text'] !== 'string') return undefined;
  const span = readSpan(entry, endMsMax);
  const avgLogprob = numberOf(entry['avg_logprob']);
  return (
    span && {
      ...span,
      // A line break would split a subtitle.
      text: entry['text'].trim().replace(/\s+/g, ' '),
      words: [],
      speaker: textOf(entry['speaker']),
      avgLogprob: avgLogprob !== undefined && avgLogprob <= 0 ? avgLogprob : undefined,
      details: readDetails(entry),
    }
  );
}

function readDetails(entry: Readonly<Record<string, unknown>>): SegmentDetails {
  const probability = numberOf(entry['no_speech_prob']);
  return {
    seek: isInt32(entry['seek']) ? entry['seek'] : undefined,
    tokens: listOf(entry['tokens']).every(isInt32) ? (listOf(entry['tokens']) as number[]) : undefined,
    temperature: numberOf(entry['temperature']),
    compressionRatio: numberOf(entry['compression_ratio']),
    noSpeechProb: probability !== undefined && probability >= 0 && probability <= 1 ? probability : undefined,
  };
}

function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value;
}

function readWord(entry: unknown, endMsMax: number): TranscriptWord | undefined {
  if (!isObject(entry)) return undefined;
  const word = textOf(entry['word']);
  const span = readSpan(entry, endMsMax);
  return word !== undefined && span ? { word, ...span } : undefined;
}

function readSpan({ start, end }: Readonly<Record<string, unknown>>, endMsMax: number): Span | undefined {
  const startMs = Math.round((numberOf(start) ?? Number.NaN) * 1000);
  const endMs = Math.round((numberOf(end) ?? Number.NaN) * 1000);
  const isPossible = startMs >= -jitterMs && endMs >= startMs - jitterMs && endMs <= endMsMax;
  if (!isPossible) return undefined;
  const from = Math.max(startMs, 0);
  return { startMs: from, endMs: Math.max(endMs, from) };
}

function byStart(a: Span, b: Span): number {
  return a.startMs - b.startMs;
}

/** A word belongs to the last segment that begins before the word's middle, else to the first segment. */
function withWords(
  segments: readonly TranscriptSegment[],
  words: readonly TranscriptWord[],
): TranscriptSegment[] {
  const own: TranscriptWord[][] = segments.map(() => []);
  let index = 0;
  for (const word of words) {
    const middleMs = (word.startMs + word.endMs) / 2;
    while ((segments[index + 1]?.startMs ?? Number.POSITIVE_INFINITY) <= middleMs) index++;
    own[index]?.push(word);
  }
  return segments.map((segment, at) => ({ ...segment, words: own[at] ?? [] }));
}

function oneSegment(words: readonly TranscriptWord[], text: string | undefined): TranscriptSegment[] {
  const [first] = words;
  if (first === undefined) return [];
  return [
    {
      startMs: first.startMs,
      endMs: words.reduce((endMs, word) => Math.max(endMs, word.endMs), 0),
      text: (text ?? words.map(({ word }) => word).join(' ')).replace(/\s+/g, ' '),
      words,
      avgLogprob: undefined,
    },
  ];
}

/** Created at first use, because that is slow. */
let names: Intl.DisplayNames | undefined;

/**
 * The lower-case English name of a language, as clients of the OpenAI API expect it. Upstreams send a tag such as `en`
 * or `en-US`, or an English name. Undefined for anything else.
 */
export function languageName(written: string | undefined): string | undefined {
  const text = written?.trim().toLowerCase().replaceAll('_', '-');
  if (text === undefined || !/^\p{L}[\p{L}\p{M} '(),-]{1,63}$/u.test(text)) return undefined;
  return /^[a-z]{2,3}(-|$)/.test(text) ? (nameOfTag(text) ?? text) : text;
}

function nameOfTag(tag: string): string | undefined {
  try {
    names ??= new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
    return names.of(new Intl.Locale(tag).language)?.toLowerCase();
  } catch {
    return undefined;
  }
}

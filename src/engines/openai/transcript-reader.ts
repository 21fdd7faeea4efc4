/** Reads the transcript that an upstream gives, of which no more is believed than can be true. */
import type { TranscriptSegment } from '../../core/ports/engines.ts';
import { malformedResponse } from './failures.ts';
import { isRecord, numberOf, textOf } from './json-values.ts';
import { languageName } from './language-name.ts';
import { readSegments } from './transcript-times.ts';

/** A longer recording is not believed, nor are times without a known length that lie farther out. */
const audioMsMax = 24 * 60 * 60 * 1000;

export interface UpstreamTranscript {
  /** All that was said; empty for silence. */
  readonly text: string;
  /** Empty where the upstream tells no times, or none that can be true. */
  readonly segments: readonly TranscriptSegment[];
  /** An English name; undefined where the upstream names none. */
  readonly language: string | undefined;
  /** The length of the audio by the upstream; undefined where it tells none that can be true. */
  readonly reportedMs: number | undefined;
}

/**
 * Reads an answer in `json` or `verbose_json`.
 * @param probedMs the length of the audio by its container, where that is known
 * @throws `upstream_error` where there is no text in it
 */
export function readTranscript(json: unknown, probedMs: number | undefined): UpstreamTranscript {
  if (!isRecord(json)) throw malformedResponse('the transcript is no JSON object');
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

/** Beside the text, or among what the upstream counts. */
function readReportedMs({ duration, usage }: Readonly<Record<string, unknown>>): number | undefined {
  const seconds = numberOf(duration) ?? (isRecord(usage) ? numberOf(usage['seconds']) : undefined);
  const reportedMs = (seconds ?? 0) * 1000;
  return reportedMs > 0 && reportedMs <= audioMsMax ? reportedMs : undefined;
}

/** Reads an upstream's transcript and ignores impossible times. */

import type { TranscriptSegment } from '../../../core/entities/engine.ts';
import { isObject } from '../../../core/values/json.ts';
import { malformedResponse } from '../errors.ts';
import { numberOf, textOf } from '../json-values.ts';
import { languageName } from './language-name.ts';
import { readSegments } from './segments.ts';

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

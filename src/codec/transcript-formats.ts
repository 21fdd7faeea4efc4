/** A transcript in the formats of the REST API and of the command line. */
import { deflateSync } from 'node:zlib';
import type { Transcript, TranscriptSegment } from '../../gen/parley/audio/v1/transcription_pb.ts';
import { ParleyError } from '../core/values/errors.ts';

export const transcriptFormats = ['json', 'text', 'verbose_json', 'diarized_json', 'srt', 'vtt'] as const;
export type TranscriptFormat = (typeof transcriptFormats)[number];

interface Rendered {
  readonly contentType: string;
  readonly text: string;
}

/** @throws `unsupported_response_format` for any other name */
export function readTranscriptFormat(name: string | undefined): TranscriptFormat {
  const format = transcriptFormats.find((known) => known === (name ?? 'json'));
  if (format !== undefined) return format;
  throw new ParleyError('unsupported_response_format', {
    message: `\`response_format\` must be one of ${transcriptFormats.join(', ')}.`,
    param: 'response_format',
  });
}

/** @param withSegments whether `verbose_json` has segments; false if the request asks for words alone */
export function renderTranscript(
  transcript: Transcript,
  format: TranscriptFormat,
  withSegments: boolean,
): Rendered {
  switch (format) {
    case 'json':
      return { contentType: 'application/json', text: JSON.stringify(plain(transcript)) };
    case 'verbose_json':
      return { contentType: 'application/json', text: JSON.stringify(verbose(transcript, withSegments)) };
    case 'diarized_json':
      return { contentType: 'application/json', text: JSON.stringify(diarized(transcript)) };
    case 'text':
      return { contentType: 'text/plain; charset=utf-8', text: `${transcript.text}\n` };
    case 'srt':
      return { contentType: 'text/plain; charset=utf-8', text: srt(transcript) };
    case 'vtt':
      return { contentType: 'text/vtt; charset=utf-8', text: vtt(transcript) };
  }
}

function plain(transcript: Transcript) {
  return { text: transcript.text, usage: usageOf(transcript) };
}

/** Seconds, rounded up, as fair use counts them. */
export function usageOf({ duration }: Transcript) {
  return { type: 'duration', seconds: Math.ceil(duration) } as const;
}

function verbose(transcript: Transcript, withSegments: boolean) {
  const { language, duration, text, segments, words } = transcript;
  return {
    task: 'transcribe',
    language,
    duration,
    text,
    ...(withSegments && { segments: segments.map(verboseSegment) }),
    ...(words.length > 0 && { words: words.map(({ word, start, end }) => ({ word, start, end })) }),
    usage: usageOf(transcript),
  };
}

function diarized(transcript: Transcript) {
  const { duration, text, segments } = transcript;
  return {
    task: 'transcribe',
    duration,
    text,
    segments: segments.map(({ id, start, end, text, speaker = '' }) => ({
      type: 'transcript.text.segment',
      id: String(id),
      start,
      end,
      text,
      speaker,
    })),
    usage: usageOf(transcript),
  };
}

/**
 * All members are present and none is null, as clients compute with them. Unknown probabilities get the values of
 * certain speech.
 */
function verboseSegment(segment: TranscriptSegment) {
  const { id, start, end, text, tokens } = segment;
  return {
    id,
    seek: segment.seek ?? Math.round(start * 100),
    start,
    end,
    text,
    tokens,
    temperature: segment.temperature ?? 0,
    avg_logprob: segment.avgLogprob ?? 0,
    compression_ratio: segment.compressionRatio ?? compressionRatio(text),
    no_speech_prob: segment.noSpeechProb ?? 0,
  };
}

/** The compression ratio of the text. Clients read a high value as a sign of a model that repeats itself. */
function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

function srt({ segments }: Transcript): string {
  return segments
    .map(
      ({ start, end, text }, index) =>
        `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${text}\n\n`,
    )
    .join('');
}

function vtt({ segments }: Transcript): string {
  const cues = segments.map(
    ({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${text}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}

/** `01:02:03,450` for 3723.45 seconds. */
function clock(seconds: number, point: ',' | '.'): string {
  const ms = Math.round(seconds * 1000);
  const pad = (value: number, digits: number) => String(value).padStart(digits, '0');
  const time = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${time.map((value) => pad(value, 2)).join(':')}${point}${pad(ms % 1000, 3)}`;
}

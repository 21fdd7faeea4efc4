/** The segments of a transcript as captions. */
import type { Transcript } from '../../../gen/parley/audio/v1/transcription_pb.ts';

export function srt({ segments }: Transcript): string {
  return segments
    .map(
      ({ start, end, text }, index) =>
        `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${text.trim()}\n\n`,
    )
    .join('');
}

export function vtt({ segments }: Transcript): string {
  const cues = segments.map(
    ({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${text.trim()}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}

/** `00:01:02,345` */
function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const part = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  return `${part(hours)}:${part(minutes)}:${part(Math.floor(ms / 1000) % 60)}${point}${part(ms % 1000, 3)}`;
}

/** One recording on its way to the server and back as a transcript. */
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { transcriptionBytesMax } from '../../core/transcription/service.ts';
import { fileReason } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';
import { type FormPart, type Server, ServerError, send } from './http-client.ts';

export const transcriptFormats = ['text', 'json', 'verbose_json', 'srt', 'vtt'] as const;
export type TranscriptFormat = (typeof transcriptFormats)[number];

export interface TranscriptWish {
  readonly format: TranscriptFormat;
  /** Whether `verbose_json` tells the time of each word, besides the segments. */
  readonly words?: boolean;
  readonly language?: string;
  readonly signal: AbortSignal;
}

/** The transcript as the server wrote it. @throws CliError, ServerError */
export async function requestTranscript(server: Server, file: string, wish: TranscriptWish): Promise<string> {
  const form = formOf(await readRecording(file), basename(file), wish);
  try {
    const path = '/audio/transcriptions';
    const { body } = await send(server, { verb: 'POST', path, form, signal: wish.signal });
    const transcript = await text(body);
    return transcript.endsWith('\n') ? transcript : `${transcript}\n`;
  } catch (error) {
    // A file just under the limit is over it with the form around it.
    if (error instanceof ServerError && error.code === 'payload_too_large') throw tooLarge(file);
    throw error;
  }
}

function formOf(recording: Buffer<ArrayBuffer>, fileName: string, wish: TranscriptWish): FormPart[] {
  const form: FormPart[] = [
    { name: 'file', value: recording, fileName },
    { name: 'response_format', value: wish.format },
  ];
  if (wish.language !== undefined) form.push({ name: 'language', value: wish.language });
  const granularities = wish.words ? ['segment', 'word'] : [];
  return [...form, ...granularities.map((value) => ({ name: 'timestamp_granularities[]', value }))];
}

async function readRecording(file: string): Promise<Buffer<ArrayBuffer>> {
  try {
    const { size } = await stat(file);
    if (size > transcriptionBytesMax) throw tooLarge(file);
    return await readFile(file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`It cannot be read (${fileReason(error)}). Check the name.`, error);
  }
}

/** Speech needs no more than 32 kbit/s: 17 minutes of it fit. */
function tooLarge(file: string): CliError {
  const smaller = `${file.replace(/\.[^./]*$/, '')}.small.mp3`;
  return new CliError(
    `It is over 4 MB. Compress it: ffmpeg -i '${file}' -vn -ac 1 -ar 16000 -b:a 32k '${smaller}'`,
  );
}

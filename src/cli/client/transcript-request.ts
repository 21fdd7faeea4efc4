/** One recording, sent to a server and returned as a transcript. */
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import { renderTranscript, type TranscriptFormat } from '../../codec/transcript-formats.ts';
import { transcriptionBytesMax } from '../../core/transcription/service.ts';
import { fileReason } from '../../files/reason.ts';
import { CliError } from '../terminal/command.ts';
import { ServerError } from './failed-call.ts';
import type { ServerConnection } from './server-connection.ts';

interface TranscriptOptions {
  readonly format: TranscriptFormat;
  /** Adds the times of each word, besides the segments, to `verbose_json`. Default: false */
  readonly words?: boolean;
  readonly language?: string;
  readonly signal: AbortSignal;
}

/** Returns the transcript in its format, with a line feed at the end. @throws CliError, ServerError */
export async function requestTranscript(
  server: ServerConnection,
  path: string,
  { format, words, language, signal }: TranscriptOptions,
): Promise<string> {
  const request = {
    file: await readRecording(path),
    fileName: basename(path),
    ...(language && { language }),
    timestampGranularities: words ? ['segment', 'word'] : [],
  };
  try {
    const { transcript } = await server.call(
      TranscriptionService,
      (client, options) => client.createTranscription(request, options),
      signal,
    );
    if (transcript === undefined) throw new CliError('The server sent no transcript. Try again.');
    const hasTimes = transcript.segments.length > 0 || transcript.text === '';
    if ((format === 'srt' || format === 'vtt') && !hasTimes) {
      throw new CliError(`The model gives no times, which ${format} needs. Choose --format text or json.`);
    }
    const { text } = renderTranscript(transcript, format, true);
    return text.endsWith('\n') ? text : `${text}\n`;
  } catch (error) {
    // The server may have a lower limit.
    if (error instanceof ServerError && error.code === 'payload_too_large') throw tooLarge(path);
    throw error;
  }
}

async function readRecording(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { size } = await stat(path);
    if (size > transcriptionBytesMax) throw tooLarge(path);
    return await readFile(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`It cannot be read (${fileReason(error)}). Check the name.`, error);
  }
}

/** Suggests 32 kbit/s, which is enough for speech: 17 minutes fit in 4 MB. */
function tooLarge(path: string): CliError {
  const smaller = `${path.replace(/\.[^./]*$/, '')}.small.mp3`;
  return new CliError(
    `It is over 4 MB. Compress it: ffmpeg -i '${path}' -vn -ac 1 -ar 16000 -b:a 32k '${smaller}'`,
  );
}

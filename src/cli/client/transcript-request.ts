/** Sends one recording to a server and returns its transcript. */
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  StreamTranscriptionRequestSchema,
  Transcript,
  TranscriptSegment,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import { renderTranscript, type TranscriptFormat } from '../../codec/transcript-formats.ts';
import { transcriptionBytesMax } from '../../core/transcription/service.ts';
import { fileReason } from '../../files/reason.ts';
import { CliError, ServerError } from '../terminal/command.ts';
import type { ServerConnection } from './server-connection.ts';

interface TranscriptOptions {
  readonly format: TranscriptFormat;
  /** Adds the times of each word, besides the segments, to `verbose_json`. Default: false */
  readonly words?: boolean;
  readonly language?: string;
  /** Called with each segment as soon as it is recognised. */
  readonly onSegment: (segment: TranscriptSegment) => void;
  readonly signal: AbortSignal;
}

/**
 * Returns the transcript in its format, ending in a line feed.
 * @throws CliError, ServerError
 */
export async function requestTranscript(
  server: ServerConnection,
  path: string,
  options: TranscriptOptions,
): Promise<string> {
  const { format, words, language, signal } = options;
  const isSubtitles = format === 'srt' || format === 'vtt';
  const transcription = {
    file: await readRecording(path),
    fileName: basename(path),
    ...(language && { language }),
    ...(format === 'diarized_json' && { speakers: true }),
    // A server refuses these formats at once if its model reports no times.
    timestampGranularities: words ? ['segment', 'word'] : isSubtitles ? ['segment'] : [],
  };
  try {
    const transcript = await readTranscript(server, { transcription }, options);
    if (isSubtitles && transcript.segments.length === 0 && transcript.text !== '') throw withoutTimes(format);
    const { text } = renderTranscript(transcript, format, true);
    return text.endsWith('\n') ? text : `${text}\n`;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServerError)) throw error;
    // The server's limit may be lower.
    if (error.code === 'payload_too_large') throw tooLarge(path);
    if (error.param === 'speakers')
      throw new CliError(`The model identifies no speakers, which ${format} needs.`);
    if (error.param === 'timestamp_granularities') throw withoutTimes(words ? '--words' : format);
    throw error;
  }
}

async function readTranscript(
  server: ServerConnection,
  request: MessageInitShape<typeof StreamTranscriptionRequestSchema>,
  { onSegment, signal }: TranscriptOptions,
): Promise<Transcript> {
  const parts = server.stream(
    TranscriptionService,
    (client, options) => client.streamTranscription(request, options),
    signal,
  );
  let transcript: Transcript | undefined;
  // Read to its end, as Connect keeps a stream open after its reader leaves.
  for await (const { event } of parts) {
    if (event.case === 'segment') onSegment(event.value);
    if (event.case === 'transcript') transcript = event.value;
  }
  if (transcript === undefined) throw new CliError('The server sent no transcript. Try again.');
  return transcript;
}

function withoutTimes(wanted: string): CliError {
  const [needs, instead] =
    wanted === '--words' ? ['--words', 'Leave it out.'] : [wanted, 'Choose --format text or json.'];
  return new CliError(`The model gives no times, which ${needs} needs. ${instead}`);
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

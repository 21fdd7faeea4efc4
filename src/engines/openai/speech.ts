import {
  type AudioFormat,
  contentType,
  type SpeechEngine,
  type SpeechOutput,
  type SpeechRequest,
  type VoiceList,
} from '../../core/entities/engine.ts';
import { wellFormedJson } from '../../core/values/json.ts';
import type { Signal } from '../../core/values/signal.ts';
import { readWavHead, type WavHead, withUnknownLength } from '../../media/encoders/wav.ts';
import type { UpstreamAnswer } from './calls/answer.ts';
import type { Known } from './reported-value.ts';
import type { UpstreamModel } from './settings.ts';

interface SpeechModel extends UpstreamModel {
  readonly voices: Known<VoiceList>;
}

/**
 * Relays an upstream's speech as it arrives. The audio rejects with `upstream_error` if the upstream fails, breaks off, or
 * sends something other than audio of the format.
 */
export function createOpenAiSpeech(deps: SpeechModel): SpeechEngine {
  return {
    availability: () => deps.voices.availability(),
    voices: () => deps.voices.value(),
    // Only the upstream knows which texts its model can speak.
    check: () => undefined,
    synthesize: (request, signal) => synthesize(deps, request, signal),
  };
}

/** Sends the four fields of the contract and no others. */
function synthesize(
  { upstream, model }: SpeechModel,
  { input, voice, format }: SpeechRequest,
  signal: Signal,
): SpeechOutput {
  let bytes = 0;
  let head: Length | undefined = format === 'pcm' ? pcm : undefined;
  const noteHead = (wav: Length | undefined) => {
    head = wav;
  };
  async function* audio(): AsyncGenerator<Uint8Array> {
    const answer = await upstream.call({
      method: 'POST',
      path: '/audio/speech',
      headers: {
        'content-type': 'application/json',
        accept: `${contentType(format)}, audio/*, application/octet-stream`,
      },
      body: wellFormedJson({ model, input, voice, response_format: format }),
      signal,
    });
    for await (const piece of checkedAudio(answer, format, noteHead)) {
      bytes += piece.length;
      yield piece;
    }
  }
  const durationMs = () => head && ((bytes - head.dataAt) * 1000) / head.bytesPerSecond;
  return { audio: audio(), durationMs };
}

/** Converts a number of bytes to a length of audio. */
type Length = Pick<WavHead, 'bytesPerSecond' | 'dataAt'>;

/** 16-bit mono at 24 kHz, the raw PCM of the OpenAI API. */
const pcm: Length = { bytesPerSecond: 48_000, dataAt: 0 };
/** The samples of a WAV usually begin far earlier. If they begin later, the length is unknown. */
const wavHeadBytesMax = 4_096;

/** Accepted types that do not begin with `audio/`. Some servers send none. */
const otherTypes: readonly string[] = [
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/ogg',
];

/** The first bytes of each format. PCM has no signature, and MP3 may lack one. */
const signatures: readonly (readonly [string, AudioFormat])[] = [
  ['RIFF', 'wav'],
  ['fLaC', 'flac'],
  ['OggS', 'opus'],
  ['ID3', 'mp3'],
];
const signatureBytes = 4;

/**
 * The audio of an answer as it arrives. Clients rely on the Content-Type that Parley sends, and on the length in a WAV.
 * @param noteHead takes the head of a WAV
 * @throws `upstream_error` before the first bytes if it is not audio, or has the signature of another format
 */
async function* checkedAudio(
  answer: UpstreamAnswer,
  format: AudioFormat,
  noteHead: (wav: WavHead | undefined) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { contentType } = answer;
  if (!contentType.startsWith('audio/') && !otherTypes.includes(contentType)) {
    throw answer.refuse(`the answer is ${contentType}, not audio`);
  }
  let head: Uint8Array | undefined = new Uint8Array();
  try {
    for (let bytes = await answer.next(); bytes; bytes = await answer.next()) {
      if (head === undefined) {
        yield bytes;
        continue;
      }
      head = head.length === 0 ? bytes : Buffer.concat([head, bytes]);
      if (head.length < signatureBytes) continue;
      refuseOtherFormat(answer, head, format);
      const wav = format === 'wav' ? readWavHead(head) : undefined;
      // The length that a WAV states is read once its first samples are there.
      if (format === 'wav' && head.length < wavHeadBytesMax && !(wav && head.length > wav.dataAt)) continue;
      if (wav) noteHead(wav);
      yield wav ? withUnknownLength(head, wav) : head;
      head = undefined;
    }
  } finally {
    answer.close();
  }
  if (head === undefined || head.length === 0) return;
  if (format === 'wav') noteHead(readWavHead(head));
  yield head;
}

function refuseOtherFormat(answer: UpstreamAnswer, head: Uint8Array, format: AudioFormat): void {
  const begin = Buffer.from(head.subarray(0, signatureBytes)).toString('latin1');
  const [, found] = signatures.find(([signature]) => begin.startsWith(signature)) ?? [];
  if (found !== undefined && found !== format) {
    throw answer.refuse(`the answer is ${found} instead of ${format}`);
  }
}

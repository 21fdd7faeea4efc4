/** Converts the messages of live transcription to events of a session. */
import {
  AudioEncoding as Encoding,
  type StreamTranscribeConfig,
  type StreamTranscribeRequest,
} from '../../../gen/parley/audio/v1/live_pb.ts';
import { type AudioEncoding, clientSampleRates, liveSampleRate } from '../entities/live.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';
import { invalidInput } from '../values/parameters.ts';
import type { LiveSession, SessionConfig } from './live-session.ts';
import type { TurnDetection } from './turn-cutter.ts';

/** Bytes of one message: about two seconds of the default audio. */
const audioBytesMax = 65_536;

/**
 * Reads until the client ends its side. A wrong message, for which `handle` throws, ends the session, after the turns that were
 * spoken before it. Does not reject.
 */
export async function feed<Request>(
  requests: AsyncIterable<Request>,
  session: LiveSession,
  handle: (request: Request) => Promise<void> | undefined,
): Promise<void> {
  try {
    for await (const request of requests) await handle(request);
    session.finish();
  } catch (thrown) {
    const error = toParleyError(thrown);
    if (error.code === 'request_cancelled') session.leave(error);
    else session.finish(error);
  }
}

export function reader(session: LiveSession) {
  let isConfigured = false;
  return async ({ part }: StreamTranscribeRequest): Promise<void> => {
    if (part.case === 'config') session.configure(toConfig(part.value));
    else if (!isConfigured) throw invalidInput('config', 'The first message must be `config`.');
    isConfigured = true;
    if (part.case === 'audio') await session.audio(checkedAudio(part.value));
    if (part.case === 'commit') await session.commit();
    if (part.case === 'clear') await session.clear();
  };
}

/** @throws `payload_too_large` */
export function checkedAudio(audio: Uint8Array): Uint8Array {
  if (audio.length <= audioBytesMax) return audio;
  const message = `A message has at most ${audioBytesMax} bytes of audio. Send it in smaller parts.`;
  throw new ParleyError('payload_too_large', { message });
}

const encodings: Readonly<Record<Encoding, AudioEncoding>> = {
  [Encoding.UNSPECIFIED]: 'pcm16',
  [Encoding.PCM16]: 'pcm16',
  [Encoding.MULAW]: 'mulaw',
  [Encoding.ALAW]: 'alaw',
};

function toConfig({ encoding, sampleRate, language, turnDetection }: StreamTranscribeConfig): SessionConfig {
  const known = encodings[encoding];
  if (known === undefined) throw invalidInput('encoding', '`encoding` must be PCM16, MULAW or ALAW.');
  return {
    encoding: known,
    sampleRate: sampleRateOf(known, sampleRate),
    language,
    detection: turnDetection && toDetection(turnDetection.silenceMs, turnDetection.prefixMs),
  };
}

/** G.711 is the encoding of telephones. */
const defaultSampleRates = { pcm16: liveSampleRate, mulaw: 8_000, alaw: 8_000 };

/** @param param its name in errors @throws `invalid_input` */
export function sampleRateOf(
  encoding: AudioEncoding,
  rate = defaultSampleRates[encoding],
  param = 'sample_rate',
): number {
  if (clientSampleRates.includes(rate)) return rate;
  throw invalidInput(param, `\`${param}\` is one of ${clientSampleRates.join(', ')}.`);
}

/** @param names of the two fields in errors @throws `invalid_input` */
export function toDetection(
  silenceMs = 500,
  prefixMs = 300,
  names: readonly [silence: string, prefix: string] = ['silence_ms', 'prefix_ms'],
): TurnDetection {
  return {
    silenceMs: within(names[0], silenceMs, 100, 10_000),
    prefixMs: within(names[1], prefixMs, 0, 1_000),
  };
}

function within(param: string, value: number, least: number, most: number): number {
  if (value >= least && value <= most) return value;
  throw invalidInput(param, `\`${param}\` must be a number from ${least} to ${most}.`);
}

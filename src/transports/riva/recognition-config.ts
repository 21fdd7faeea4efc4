/** Reads the configuration of audio that a client of Riva sends. */
import type { RecognitionConfig } from '../../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { AudioEncoding } from '../../../gen/nvidia/riva/riva_audio_pb.ts';
import type { AudioEncoding as RawEncoding, RawForm } from '../../core/entities/live.ts';
import { sampleRateOf } from '../../core/realtime/transcribe-request.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import { invalidInput } from '../../core/values/parameters.ts';

const rawEncodings: Readonly<Partial<Record<AudioEncoding, RawEncoding>>> = {
  [AudioEncoding.LINEAR_PCM]: 'pcm16',
  [AudioEncoding.MULAW]: 'mulaw',
  [AudioEncoding.ALAW]: 'alaw',
};

/** The encoding of samples without a file; undefined for that of a file. @throws `invalid_input` for an unknown one */
export function rawEncodingOf({ encoding }: RecognitionConfig): RawEncoding | undefined {
  if (!Object.values(AudioEncoding).some((known) => known === encoding))
    throw invalidInput('encoding', 'There is no such `encoding`.');
  return rawEncodings[encoding];
}

/** @throws `invalid_input` */
export function rawFormOf(config: RecognitionConfig, encoding: RawEncoding, channelsMax: number): RawForm {
  const channels = config.audioChannelCount || 1;
  if (channels < 1 || channels > channelsMax) {
    throw invalidInput('audio_channel_count', `\`audio_channel_count\` is at most ${channelsMax} here.`);
  }
  const rate = config.sampleRateHertz || undefined;
  return { encoding, channels, sampleRate: sampleRateOf(encoding, rate, 'sample_rate_hertz') };
}

/** @throws `invalid_input` without a configuration, and for features that would change the text and are not offered */
export function checkedConfig(config: RecognitionConfig | undefined): RecognitionConfig {
  if (config === undefined) throw invalidInput('config', 'Send `config`.');
  if (config.profanityFilter) {
    throw invalidInput(
      'profanity_filter',
      'This server does not filter words. Leave `profanity_filter` out.',
    );
  }
  if (config.diarizationConfig?.enableSpeakerDiarization) {
    const message = 'This server does not identify speakers. Leave `enable_speaker_diarization` out.';
    throw invalidInput('diarization_config', message);
  }
  return config;
}

/** The language of a tag such as `en-US`, as engines know it; `multi` is Riva's word for any. */
export function languageOf({ languageCode }: RecognitionConfig): string | undefined {
  const [language = ''] = languageCode.toLowerCase().split(/[-_]/);
  return language === '' || language === 'multi' ? undefined : language;
}

/** Riva's names by core's. */
type Names = Readonly<Record<string, string>>;

/** The error for Riva's clients. An error without a field stays as it is. */
export function inOwnTerms(thrown: unknown, names: Names): ParleyError {
  const error = toParleyError(thrown);
  const { code, param, message, advice } = error;
  const name = param === undefined ? undefined : names[param];
  if (name === undefined) return error;
  const inOwnTerms = Object.entries(names).reduce(
    (text, [from, to]) => text.replaceAll(`\`${from}\``, `\`${to}\``),
    message,
  );
  return new ParleyError(code, { message: inOwnTerms, advice, param: name, cause: error });
}

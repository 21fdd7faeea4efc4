/** Speech, as Riva's clients ask for it. */
import { create } from '@bufbuild/protobuf';
import { AudioEncoding } from '../../../gen/nvidia/riva/riva_audio_pb.ts';
import * as pb from '../../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import { ListSpeechModelsRequestSchema, type Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../../gen/parley/speech/v1/speech_pb.ts';
import type { Call } from '../../core/access/call.ts';
import type { RawAudio } from '../../core/entities/live.ts';
import { sampleRateOf } from '../../core/realtime/transcribe-request.ts';
import type { Services } from '../../core/services.ts';
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { quote } from '../../core/values/quote.ts';
import { inOwnTerms } from './recognition-config.ts';

const names = { input: 'text', model: 'voice_name', voice: 'voice_name', response_format: 'encoding' };

/** Clients of gRPC accept 4 MiB in a message, unless they are told to accept more. */
const audioBytesMax = 4_000_000;
/** The rate of speech without a wish. */
const defaultSampleRate = 24_000;

export class Synthesis {
  readonly #services: Services;
  readonly #rawAudio: RawAudio;

  constructor(services: Services, rawAudio: RawAudio) {
    this.#services = services;
    this.#rawAudio = rawAudio;
  }

  async synthesize(request: pb.SynthesizeSpeechRequest, call: Call): Promise<pb.SynthesizeSpeechResponse> {
    const audio = new CollectedBytes();
    for await (const bytes of this.#speak(request, call)) {
      if (audio.length + bytes.length > audioBytesMax) throw tooMuchAudio();
      audio.add(bytes);
    }
    return responseOf(audio.bytes, request);
  }

  synthesizeOnline(
    requests: AsyncIterable<pb.SynthesizeSpeechRequest>,
    call: Call,
  ): AsyncGenerator<pb.SynthesizeSpeechResponse, void, void> {
    return this.#services.realtime.runEach(requests, (request, own) => this.#respond(request, own), call);
  }

  /** @param call undefined for a caller without a key */
  async config(
    { modelName }: pb.RivaSynthesisConfigRequest,
    call?: Call,
  ): Promise<pb.RivaSynthesisConfigResponse> {
    const models = await this.#modelsFor(call);
    const modelConfig = models.filter(({ id }) => modelName === '' || id === modelName).map(describe);
    return create(pb.RivaSynthesisConfigResponseSchema, { modelConfig });
  }

  async *#respond(
    request: pb.SynthesizeSpeechRequest,
    call: Call,
  ): AsyncGenerator<pb.SynthesizeSpeechResponse> {
    for await (const audio of this.#speak(request, call)) yield responseOf(audio, request);
  }

  async *#speak(request: pb.SynthesizeSpeechRequest, call: Call): AsyncGenerator<Uint8Array> {
    const { text, encoding, voiceName, languageCode } = request;
    const responseFormat = formatOf(encoding);
    const rate = sampleRateOf('pcm16', request.sampleRateHz || defaultSampleRate, 'sample_rate_hz');
    const { model, voice } = chooseVoice(await this.#modelsFor(call), voiceName, languageCode);
    const ours = create(SynthesizeSpeechRequestSchema, {
      model,
      responseFormat,
      ...(text !== '' && { input: text }),
      ...(voice !== undefined && { voice }),
    });
    const audio = bytesOf(this.#services.speech.synthesizeSpeech(ours, call));
    try {
      yield* responseFormat === 'pcm' ? this.#rawAudio.resample(audio, rate) : audio;
    } catch (error) {
      throw inOwnTerms(error, names);
    }
  }

  async #modelsFor(call: Call | undefined): Promise<readonly Model[]> {
    const { models } = await this.#services.catalog.listSpeechModels(
      create(ListSpeechModelsRequestSchema),
      call,
    );
    return models;
  }
}

async function* bytesOf(parts: AsyncIterable<{ readonly audio: Uint8Array }>): AsyncGenerator<Uint8Array> {
  for await (const { audio } of parts) yield audio;
}

function responseOf(audio: Uint8Array, { id }: pb.SynthesizeSpeechRequest): pb.SynthesizeSpeechResponse {
  return create(pb.SynthesizeSpeechResponseSchema, { audio, ...(id && { id }) });
}

function formatOf(encoding: AudioEncoding): 'pcm' | 'opus' {
  if (encoding === AudioEncoding.OGGOPUS) return 'opus';
  if (encoding === AudioEncoding.LINEAR_PCM || encoding === AudioEncoding.ENCODING_UNSPECIFIED) return 'pcm';
  const message = 'Speech has the encodings LINEAR_PCM and OGGOPUS.';
  throw new ParleyError('unsupported_response_format', { message, param: 'encoding' });
}

function tooMuchAudio(): ParleyError {
  return new ParleyError('input_too_long', {
    message: `The audio of \`text\` has more than ${audioBytesMax} bytes. Use SynthesizeOnline, OGGOPUS, a lower \`sample_rate_hz\` or a shorter text.`,
    param: 'text',
  });
}

/** Clients join `voice_name` and a name of `subvoices` by a dot. */
function describe({ id, voiceDetails, defaultVoice }: Model) {
  const language = voiceDetails.find((voice) => voice.id === defaultVoice)?.language ?? '';
  const subvoices = voiceDetails.map((voice, at) => `${voice.id}:${at}`).join(',');
  return { modelName: id, parameters: { voice_name: id, subvoices, language_code: language } };
}

interface ChosenVoice {
  readonly model: string;
  /** Undefined for the model's default voice. */
  readonly voice: string | undefined;
}

/**
 * @param models those that the key can call, in the configured order
 * @param name such as `flite.slt`, `flite` or `slt`; empty if any voice of the language will do
 * @throws `unknown_voice`; `engine_unavailable` without a model
 */
function chooseVoice(models: readonly Model[], name: string, language: string): ChosenVoice {
  if (models.length === 0) {
    throw new ParleyError('engine_unavailable', {
      message: 'There is no speech model that your key can call.',
    });
  }
  const chosen = name === '' ? speaking(models, language) : named(models, name);
  if (chosen !== undefined) return chosen;
  const [param, wanted] =
    name === '' ? ['language_code', `for ${quote(language)}`] : ['voice_name', quote(name)];
  throw new ParleyError('unknown_voice', {
    message: `There is no voice ${wanted}. GetRivaSynthesisConfig lists models and voices; name them as in \`MODEL.VOICE\`.`,
    param,
  });
}

function named(models: readonly Model[], name: string): ChosenVoice | undefined {
  for (const { id, voices } of models) {
    if (name === id) return { model: id, voice: undefined };
    const voice = name.startsWith(`${id}.`) ? name.slice(id.length + 1) : undefined;
    if (voice !== undefined && voices.includes(voice)) return { model: id, voice };
  }
  const owner = models.find(({ voices }) => voices.includes(name));
  return owner && { model: owner.id, voice: name };
}

/** A voice with this very tag, or one of the same language. Default voices come first. */
function speaking(models: readonly Model[], tag: string): ChosenVoice | undefined {
  const all = models.flatMap((model) => {
    const isDefault = ({ id }: { readonly id: string }) => id === model.defaultVoice;
    const voices = [...model.voiceDetails].sort((a, b) => Number(isDefault(b)) - Number(isDefault(a)));
    return voices.map(({ id, language }) => ({
      model: model.id,
      voice: id,
      language: language.toLowerCase(),
    }));
  });
  const wanted = tag.toLowerCase();
  const primary = (language: string) => language.split(/[-_]/)[0];
  return (
    all.find(({ language }) => wanted === '' || language === wanted) ??
    // An upstream may not say what its voices speak.
    all.find(({ language }) => primary(language) === primary(wanted) || language === 'und')
  );
}

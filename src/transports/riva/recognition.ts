/** Recordings, as Riva's clients have them transcribed. */
import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import {
  CreateTranscriptionRequestSchema,
  type Transcript,
} from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { ListModelsRequestSchema } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Call } from '../../core/access/call.ts';
import type { RawAudio } from '../../core/entities/live.ts';
import type { Services } from '../../core/services.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { checkedConfig, inOwnTerms, languageOf, rawEncodingOf, rawFormOf } from './recognition-config.ts';

const names = { file: 'audio', timestamp_granularities: 'enable_word_time_offsets' };
const channelsMax = 8;

export class Recognition {
  readonly #services: Services;
  readonly #rawAudio: RawAudio;

  constructor(services: Services, rawAudio: RawAudio) {
    this.#services = services;
    this.#rawAudio = rawAudio;
  }

  async recognize(
    { config: given, audio, id }: pb.RecognizeRequest,
    call: Call,
  ): Promise<pb.RecognizeResponse> {
    const config = checkedConfig(given);
    if (audio.length === 0) {
      throw new ParleyError('missing_file', { message: 'Send the recording as `audio`.', param: 'audio' });
    }
    const language = languageOf(config);
    const request = create(CreateTranscriptionRequestSchema, {
      file: this.#fileOf(audio, config),
      ...(language !== undefined && { language }),
      keywords: config.speechContexts.flatMap(({ phrases }) => phrases),
      timestampGranularities: config.enableWordTimeOffsets ? ['word', 'segment'] : [],
    });
    try {
      const { transcript } = await this.#services.transcription.createTranscription(request, call);
      const results = transcript ? [resultOf(transcript)] : [];
      return create(pb.RecognizeResponseSchema, { results, ...(id && { id }) });
    } catch (error) {
      throw inOwnTerms(error, names);
    }
  }

  /** The one active model stands for both, also where another hears live. */
  async config(
    { modelName }: pb.RivaSpeechRecognitionConfigRequest,
    call: Call,
  ): Promise<pb.RivaSpeechRecognitionConfigResponse> {
    const wanted = create(ListModelsRequestSchema, { type: 'transcription' });
    const { data } = await this.#services.catalog.listModels(wanted, call);
    const models = data.slice(0, 1).filter(({ id }) => modelName === '' || id === modelName);
    const modelConfig = models.flatMap(({ id }) =>
      ['online', 'offline'].map((type) => ({ modelName: id, parameters: { type } })),
    );
    return create(pb.RivaSpeechRecognitionConfigResponseSchema, { modelConfig });
  }

  /** Samples without a file get one, as engines take files. */
  #fileOf(audio: Uint8Array, config: pb.RecognitionConfig): Uint8Array {
    const encoding = rawEncodingOf(config);
    const isFile = encoding === undefined || this.#rawAudio.isWav(audio);
    return isFile ? audio : this.#rawAudio.toWav(audio, rawFormOf(config, encoding, channelsMax));
  }
}

function resultOf({ text, words, segments, duration }: Transcript) {
  const logprobs = segments.flatMap(({ avgLogprob }) => avgLogprob ?? []);
  const alternative = {
    transcript: text && `${text} `,
    confidence:
      logprobs.length === 0 ? 0 : Math.exp(logprobs.reduce((sum, one) => sum + one) / logprobs.length),
    words: words.map(({ word, start, end }) => ({
      word,
      startTime: Math.round(start * 1000),
      endTime: Math.round(end * 1000),
    })),
  };
  return { alternatives: [alternative], channelTag: 1, audioProcessed: duration };
}

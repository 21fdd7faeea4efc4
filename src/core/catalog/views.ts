/** Models as callers see them. */
import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { VoiceList } from '../entities/engine.ts';
import type { CatalogModel, ChatModel, SpeechModel } from '../entities/model.ts';
import { present } from '../values/json.ts';
import { priceTexts } from '../values/money.ts';

/** @param mayCall whether the caller may call a model that it falls back to. Default: any */
export function describeModel(model: CatalogModel, mayCall: (id: string) => boolean = () => true): pb.Model {
  // An engine that is not available may not know its voices and contexts.
  const { available } = model.engine.availability();
  return create(pb.ModelSchema, {
    id: model.id,
    object: 'model',
    created: BigInt(model.createdAtSeconds),
    ownedBy: model.ownedBy,
    type: model.type,
    ...present({ description: model.description }),
    ...(model.type === 'speech' && available && describeVoices(model)),
    ...(model.type === 'chat' && {
      ...(available && describeContext(model)),
      price: { ...priceTexts(model.price), unit: 'credits_per_million_tokens' },
      fallback: model.fallback?.models.filter(mayCall) ?? [],
    }),
  });
}

function describeVoices(model: SpeechModel) {
  const { voices, defaultVoice } = voicesOf(model);
  return {
    voices: voices.map(({ id }) => id),
    voiceDetails: voices.map(({ id, language }) => ({ id, language })),
    defaultVoice,
  };
}

function describeContext({ contextTokens, outputTokensMax }: ChatModel) {
  return {
    contextWindow: contextTokens,
    contextLength: contextTokens,
    maxModelLen: contextTokens,
    maxOutputTokens: outputTokensMax,
  };
}

/** The voices that callers may send, with their languages, and the default voice. */
export function voicesOf(model: SpeechModel): VoiceList {
  const offered = model.engine.voices();
  if (model.voiceNames === undefined) {
    return { voices: offered.voices, defaultVoice: model.defaultVoice ?? offered.defaultVoice };
  }
  const languages = new Map(offered.voices.map(({ id, language }) => [id, language]));
  const voices = [...model.voiceNames].map(([id, own]) => ({ id, language: languages.get(own) ?? 'und' }));
  return { voices, defaultVoice: model.defaultVoice ?? voices[0]?.id ?? offered.defaultVoice };
}

/** The voices of all these models, without duplicates. */
export function listVoices(models: readonly SpeechModel[]): pb.ListVoicesResponse {
  const known = new Map<string, pb.OfferedVoice>();
  for (const model of models) {
    for (const { id, language } of voicesOf(model).voices) {
      const voice = known.get(id) ?? create(pb.OfferedVoiceSchema, { id, name: id, language });
      voice.models.push(model.id);
      known.set(id, voice);
    }
  }
  return create(pb.ListVoicesResponseSchema, { voices: [...known.values()] });
}

/** The models that an operator offers, and which of them a caller may call now. */
import { create } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type GetModelResponse,
  GetModelResponseSchema,
  type ListModelsRequest,
  type ListModelsResponse,
  ListModelsResponseSchema,
  type Model,
  ModelSchema,
} from '../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Call, Caller } from './call.ts';
import { isEntitled } from './entitlement.ts';
import { ParleyError } from './errors.ts';
import { metered } from './metering.ts';
import { formatCredits, type Price } from './money.ts';
import type { ChatEngine, SpeechEngine, TranscriptionEngine, VoiceList } from './ports/engines.ts';

interface ModelFacts {
  readonly id: string;
  readonly createdAtSeconds: number;
  readonly ownedBy: string;
  readonly description: string | undefined;
}

export interface SpeechModel extends ModelFacts {
  readonly type: 'speech';
  readonly engine: SpeechEngine;
  /** From the names that callers send to the engine's own. Undefined: the engine's names are the callers'. */
  readonly voiceNames: ReadonlyMap<string, string> | undefined;
  readonly defaultVoice: string | undefined;
}

export interface TranscriptionModel extends ModelFacts {
  readonly type: 'transcription';
  readonly engine: TranscriptionEngine;
}

export interface ChatModel extends ModelFacts {
  readonly type: 'chat';
  readonly engine: ChatEngine;
  readonly price: Price;
  readonly contextTokens: number;
  readonly outputTokensMax: number;
}

export type CatalogModel = SpeechModel | TranscriptionModel | ChatModel;

export class Catalog {
  readonly #models: ReadonlyMap<string, CatalogModel>;

  constructor(models: readonly CatalogModel[]) {
    this.#models = new Map(models.map((model) => [model.id, model]));
  }

  speechModel(id: string): SpeechModel | undefined {
    const model = this.#models.get(id);
    return model?.type === 'speech' ? model : undefined;
  }

  chatModel(id: string): ChatModel | undefined {
    const model = this.#models.get(id);
    return model?.type === 'chat' ? model : undefined;
  }

  /** The service's single active transcription model. */
  transcriptionModel(): TranscriptionModel | undefined {
    for (const model of this.#models.values()) if (model.type === 'transcription') return model;
    return undefined;
  }

  /** In the configured order. */
  callableBy(caller: Caller): CatalogModel[] {
    return [...this.#models.values()].filter((model) => isCallable(model, caller));
  }
}

/** What CatalogService does. */
export class CatalogOperations {
  readonly #catalog: Catalog;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  listModels(request: ListModelsRequest, call: Call): Promise<ListModelsResponse> {
    return metered(call.metering, call.signal, async () => {
      const models = this.#catalog.callableBy(call.caller);
      const wanted = request.type === undefined ? models : models.filter(({ type }) => type === request.type);
      return create(ListModelsResponseSchema, { object: 'list', data: wanted.map(describe) });
    });
  }

  /** @throws `not_found` where the caller can call no such model */
  getModel(request: GetModelRequest, call: Call): Promise<GetModelResponse> {
    return metered(call.metering, call.signal, async () => {
      const model = this.#catalog.callableBy(call.caller).find(({ id }) => id === request.id);
      if (model === undefined) {
        throw new ParleyError('not_found', {
          message: 'There is no such model for your key. GET /models lists those it can call.',
          param: 'id',
        });
      }
      return create(GetModelResponseSchema, { model: describe(model) });
    });
  }
}

/** The voices that callers may send, with their languages, and the one used where none is sent. */
export function voicesOf(model: SpeechModel): VoiceList {
  const offered = model.engine.voices();
  if (model.voiceNames === undefined) {
    return { voices: offered.voices, defaultVoice: model.defaultVoice ?? offered.defaultVoice };
  }
  const languages = new Map(offered.voices.map(({ id, language }) => [id, language]));
  const voices = [...model.voiceNames].map(([id, own]) => ({ id, language: languages.get(own) ?? 'und' }));
  return { voices, defaultVoice: model.defaultVoice ?? voices[0]?.id ?? offered.defaultVoice };
}

function isCallable(model: CatalogModel, caller: Caller): boolean {
  if (!caller.scopes.includes(model.type) || !model.engine.availability().available) return false;
  return model.type === 'chat' || isEntitled(caller.entitlement);
}

function describe(model: CatalogModel): Model {
  return create(ModelSchema, {
    id: model.id,
    object: 'model',
    created: BigInt(model.createdAtSeconds),
    ownedBy: model.ownedBy,
    type: model.type,
    ...(model.description !== undefined && { description: model.description }),
    ...(model.type === 'speech' && describeVoices(model)),
    ...(model.type === 'chat' && describeChat(model)),
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

function describeChat({ contextTokens, outputTokensMax, price }: ChatModel) {
  return {
    contextWindow: contextTokens,
    maxOutputTokens: outputTokensMax,
    price: {
      input: formatCredits(price.inputPerMillion),
      output: formatCredits(price.outputPerMillion),
      unit: 'credits_per_million_tokens',
    },
  };
}

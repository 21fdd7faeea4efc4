/** The configured models, and the models that a caller can call now. */

import type { Caller } from '../access/call.ts';
import { isEntitled } from '../entities/account.ts';
import type {
  CatalogModel,
  ChatModel,
  ConversationModel,
  SpeechModel,
  TranscriptionModel,
} from '../entities/model.ts';
import { ParleyError } from '../values/errors.ts';
import { quote } from '../values/quote.ts';

export class Catalog {
  #models: ReadonlyMap<string, CatalogModel> = new Map();
  #conversations: readonly ConversationModel[] = [];

  constructor(models: readonly CatalogModel[], conversations: readonly ConversationModel[] = []) {
    this.replace(models, conversations);
  }

  /** Replaces all models. Running requests keep the old ones. */
  replace(models: readonly CatalogModel[], conversations: readonly ConversationModel[]): void {
    this.#models = new Map(models.map((model) => [model.id, model]));
    this.#conversations = conversations;
  }

  /** @param id undefined for the first one */
  conversation(id: string | undefined): ConversationModel | undefined {
    return this.#conversations.find((conversation) => id === undefined || conversation.id === id);
  }

  find(id: string): CatalogModel | undefined {
    return this.#models.get(id);
  }

  speechModel(id: string): SpeechModel | undefined {
    const model = this.#models.get(id);
    return model?.type === 'speech' ? model : undefined;
  }

  chatModel(id: string): ChatModel | undefined {
    const model = this.#models.get(id);
    return model?.type === 'chat' ? model : undefined;
  }

  /** The service's single active transcription model, or for live sessions the one in its place. */
  transcriptionModel(isLive = false): TranscriptionModel | undefined {
    const models = [...this.#models.values()].filter((model) => model.type === 'transcription');
    const active = models.find(({ liveOnly }) => !liveOnly);
    return isLive ? (models.find(({ liveOnly }) => liveOnly) ?? active) : active;
  }

  /** @throws `engine_unavailable` */
  availableTranscriptionModel(isLive = false): TranscriptionModel {
    const model = this.transcriptionModel(isLive);
    if (model === undefined) {
      throw new ParleyError('engine_unavailable', {
        message: 'This server has no transcription model. Its operator can add one in parley.yaml.',
      });
    }
    const availability = model.engine.availability();
    if (availability.available) return model;
    throw new ParleyError('engine_unavailable', { message: availability.reason });
  }

  /** Models that cannot be called now, with the reason. Engines that are still connecting are omitted. */
  unavailable(): { readonly model: string; readonly reason: string }[] {
    return [...this.#models.values()].flatMap(({ id, engine }) => {
      const availability = engine.availability();
      if (availability.available || availability.isPending) return [];
      return [{ model: id, reason: availability.reason }];
    });
  }

  /** Models that an entitled caller can call now, in the configured order. */
  availableSpeechModels(): SpeechModel[] {
    const models = [...this.#models.values()].filter((model) => model.type === 'speech');
    return models.filter(({ engine }) => engine.availability().available);
  }

  /** In the configured order. */
  callableBy(caller: Caller): CatalogModel[] {
    return [...this.#models.values()].filter((model) => isCallable(model, caller));
  }
}

/** The error of a request for a model of this type that is not in the catalog. */
export function unknownModel(type: 'chat' | 'speech', id: string): ParleyError {
  const message = `There is no ${type} model ${quote(id)}.`;
  return new ParleyError('unknown_model', {
    message,
    advice: { kind: 'choose_model', type },
    param: 'model',
  });
}

function isCallable(model: CatalogModel, caller: Caller): boolean {
  if (model.type === 'transcription' && model.liveOnly) return false;
  if (!caller.scopes.includes(model.type) || !model.engine.availability().available) return false;
  if (caller.limits?.allowsModel(model.id) === false) return false;
  return model.type === 'chat' || isEntitled(caller.entitlement);
}

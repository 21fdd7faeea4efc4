/** The configured models, and the ones that a caller can call now. */

import { isEntitled } from '../access/entitlement.ts';
import type { Price } from '../billing/money.ts';
import type { Caller } from '../call.ts';
import type { ChatEngine, SpeechEngine, TranscriptionEngine } from '../ports/engines.ts';

interface ModelFacts {
  readonly id: string;
  readonly createdAtSeconds: number;
  readonly ownedBy: string;
  readonly description: string | undefined;
}

export interface SpeechModel extends ModelFacts {
  readonly type: 'speech';
  readonly engine: SpeechEngine;
  /** Maps the voice names that callers send to the engine's. Undefined: callers use the engine's names. */
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
  /** @throws `engine_unavailable` while the engine must tell and cannot, as `outputTokensMax` does */
  readonly contextTokens: number;
  readonly outputTokensMax: number;
}

export type CatalogModel = SpeechModel | TranscriptionModel | ChatModel;

export const modelTypes = [
  'speech',
  'transcription',
  'chat',
] as const satisfies readonly CatalogModel['type'][];

export class Catalog {
  #models: ReadonlyMap<string, CatalogModel> = new Map();

  constructor(models: readonly CatalogModel[]) {
    this.replace(models);
  }

  /** Replaces all models. Running requests keep theirs. */
  replace(models: readonly CatalogModel[]): void {
    this.#models = new Map(models.map((model) => [model.id, model]));
  }

  has(id: string): boolean {
    return this.#models.has(id);
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

  /** Models that cannot be called now, with the reason. Engines that are still connecting are left out. */
  unavailable(): { readonly model: string; readonly reason: string }[] {
    return [...this.#models.values()].flatMap(({ id, engine }) => {
      const availability = engine.availability();
      if (availability.available || availability.isPending) return [];
      return [{ model: id, reason: availability.reason }];
    });
  }

  /** Those that can be called now by whoever may, in the configured order. */
  availableSpeechModels(): SpeechModel[] {
    const models = [...this.#models.values()].filter((model) => model.type === 'speech');
    return models.filter(({ engine }) => engine.availability().available);
  }

  /** In the configured order. */
  callableBy(caller: Caller): CatalogModel[] {
    return [...this.#models.values()].filter((model) => isCallable(model, caller));
  }
}

function isCallable(model: CatalogModel, caller: Caller): boolean {
  if (!caller.scopes.includes(model.type) || !model.engine.availability().available) return false;
  if (caller.limits?.allowsModel(model.id) === false) return false;
  return model.type === 'chat' || isEntitled(caller.entitlement);
}

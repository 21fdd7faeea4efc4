/** Connects the models of the configuration to their engines. */
import type { ModelConfig } from '../config/config.ts';
import { contextTokensDefault } from '../config/schema/models.ts';
import type { Engine } from '../core/entities/engine.ts';
import type { CatalogModel } from '../core/entities/model.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { failoverChat } from '../engines/failover/chat.ts';
import type { EngineList } from '../engines/failover/engine-order.ts';
import { failoverSpeech } from '../engines/failover/speech.ts';
import { failoverTranscription } from '../engines/failover/transcription.ts';
import { observedChat } from '../engines/observed/chat.ts';
import type { ObservedRequest, ObservedRequests } from '../engines/observed/observed-requests.ts';
import { observedSpeech } from '../engines/observed/speech.ts';
import { observedTranscription } from '../engines/observed/transcription.ts';

interface FoundEngine {
  readonly set: EngineSet;
  readonly requests: ObservedRequests;
}

/** @param name of an engine in the configuration */
type FindEngine = (name: string) => FoundEngine | undefined;

type Observe<E> = (engine: E, begin: () => ObservedRequest) => E;

/**
 * @param addedAtMs the creation time of a model without a configured one
 * @throws if an engine of the model does not exist or does not offer its operation
 */
export function toCatalogModel(model: ModelConfig, engines: FindEngine, addedAtMs: number): CatalogModel {
  const { id, balance = 'in-order' } = model;
  const weights = [model.engine].flat().map((name) => model.weights?.[name] ?? 1);
  const choice = { balance, weights };
  const facts = {
    id,
    createdAtSeconds: Math.floor((model.created ? Date.parse(model.created) : addedAtMs) / 1000),
    ownedBy: model.ownedBy,
    description: model.description,
  };
  const offering = <E extends Engine>(observe: Observe<E>, offer: (set: EngineSet) => E | undefined) =>
    enginesOf(model, engines, ({ set, requests }) => {
      const engine = offer(set);
      return engine && observe(engine, () => requests.begin(id));
    });
  switch (model.type) {
    case 'speech': {
      const voiceNames = model.voices && new Map(Object.entries(model.voices));
      const { defaultVoice } = model;
      const speaking = offering(observedSpeech, (set) => set.speech?.(id));
      const engine = failoverSpeech(speaking, choice);
      return { ...facts, type: 'speech', engine, voiceNames, defaultVoice };
    }
    case 'transcription': {
      const transcribing = offering(observedTranscription, (set) => set.transcription?.(id));
      const engine = failoverTranscription(transcribing, choice);
      return { ...facts, type: 'transcription', engine };
    }
    case 'chat': {
      const { price, thinking = 'effort', contextTokens, outputTokensMax = Infinity } = model;
      const chatting = offering(observedChat, (set) => set.chat?.(id, contextTokens === undefined));
      const engine = failoverChat(chatting, { ...choice, isSticky: model.affinity === 'account' });
      // An upstream may report another context for each request.
      const context = () => contextTokens ?? engine.contextTokens?.() ?? contextTokensDefault;
      return {
        ...facts,
        type: 'chat',
        engine,
        price,
        thinking,
        get contextTokens() {
          return context();
        },
        get outputTokensMax() {
          return Math.min(outputTokensMax, context());
        },
      };
    }
  }
}

/**
 * The engines of a model, in the order of the configuration.
 * @param offer returns the engine for models of this type; undefined if there is none
 */
function enginesOf<E extends Engine>(
  { id, type, engine }: ModelConfig,
  engines: FindEngine,
  offer: (found: FoundEngine) => E | undefined,
): EngineList<E> {
  const names = typeof engine === 'string' ? [engine] : engine;
  const [first, ...others] = names.map((name) => {
    const found = engines(name);
    const offered = found && offer(found);
    if (offered !== undefined) return offered;
    throw new Error(`The model ${id} needs ${type}, which the engine ${name} does not offer.`);
  });
  if (first === undefined) throw new Error(`The model ${id} has no engine.`);
  return [first, ...others];
}

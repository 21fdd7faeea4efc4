/** Connects the models of the configuration to their engines. */
import type { ModelConfig } from '../config/config.ts';
import { contextTokensDefault } from '../config/schema/models.ts';
import type { Engine } from '../core/entities/engine.ts';
import type { CatalogModel, Fallback } from '../core/entities/model.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { runChat } from '../engines/run/chat.ts';
import type { EngineCounts } from '../engines/run/engine-counts.ts';
import { type Candidate, ModelEngines } from '../engines/run/model-engines.ts';
import { runSpeech } from '../engines/run/speech.ts';
import { runTranscription } from '../engines/run/transcription.ts';

interface FoundEngine {
  readonly set: EngineSet;
  readonly counts: EngineCounts;
}

type ChatModelConfig = Extract<ModelConfig, { type: 'chat' }>;

/** @param name of an engine in the configuration */
type FindEngine = (name: string) => FoundEngine | undefined;

/**
 * @param addedAtMs the creation time of a model without a configured one
 * @throws if an engine of the model does not exist or does not offer its operation
 */
export function toCatalogModel(model: ModelConfig, engines: FindEngine, addedAtMs: number): CatalogModel {
  const { id } = model;
  const facts = {
    id,
    createdAtSeconds: Math.floor((model.created ? Date.parse(model.created) : addedAtMs) / 1000),
    ownedBy: model.ownedBy,
    description: model.description,
  };
  switch (model.type) {
    case 'speech': {
      const voiceNames = model.voices && new Map(Object.entries(model.voices));
      const { defaultVoice } = model;
      const engine = runSpeech(enginesOf(model, engines, (set) => set.speech?.(id)));
      return { ...facts, type: 'speech', engine, voiceNames, defaultVoice };
    }
    case 'transcription': {
      const engine = runTranscription(enginesOf(model, engines, (set) => set.transcription?.(id)));
      return { ...facts, type: 'transcription', engine, liveOnly: model.liveOnly ?? false };
    }
    case 'chat': {
      const { price, systemMessages, imageTokens } = model;
      const { contextTokens, outputTokensMax } = model;
      const needsContext = contextTokens === undefined;
      const engine = runChat(enginesOf(model, engines, (set) => set.chat?.(id, needsContext)));
      return {
        ...facts,
        type: 'chat',
        engine,
        price,
        thinking: model.thinking ?? (engine.takesBlocks ? 'parameter' : 'effort'),
        systemMessages,
        imageTokens,
        fallback: fallbackOf(model),
        // An upstream may report another context for each request.
        get contextTokens() {
          return contextTokens ?? engine.contextTokens?.() ?? contextTokensDefault;
        },
        get outputTokensMax() {
          return Math.min(outputTokensMax ?? engine.outputTokensMax ?? Infinity, this.contextTokens);
        },
      };
    }
  }
}

function fallbackOf({ fallback, fallbackOn, fallbackPrice }: ChatModelConfig): Fallback | undefined {
  return (
    fallback && {
      models: fallback,
      on: new Set(fallbackOn ?? ['connect', 429, 402]),
      price: fallbackPrice ?? 'answering',
    }
  );
}

/**
 * The engines of a model, in the order of the configuration.
 * @param offer returns the engine for models of this type; undefined if there is none
 */
function enginesOf<E extends Engine>(
  { id, type, engine, balance }: ModelConfig,
  engines: FindEngine,
  offer: (set: EngineSet) => E | undefined,
): ModelEngines<E> {
  const [first, ...others] = [engine].flat().map((name): Candidate<E> => {
    const found = engines(name);
    const offered = found && offer(found.set);
    if (!offered) throw new Error(`The model ${id} needs ${type}, which the engine ${name} does not offer.`);
    return { engine: offered, model: id, counts: found.counts };
  });
  if (first === undefined) throw new Error(`The model ${id} has no engine.`);
  return new ModelEngines([first, ...others], balance);
}

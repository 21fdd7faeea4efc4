/** Opens the configured engines, and replaces them on a reload. */
import { isDeepStrictEqual } from 'node:util';
import type { Config, EngineConfig } from '../config/config.ts';
import type { TokenCounter } from '../core/entities/engine.ts';
import type { CatalogModel } from '../core/entities/model.ts';
import type { Tracer } from '../core/entities/tracer.ts';
import type { Clock } from '../core/values/clock.ts';
import type { Log } from '../core/values/log.ts';
import { createBuiltinEngine } from '../engines/builtin/index.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { createOpenAiEngine } from '../engines/openai/index.ts';
import { createRemoteEngine } from '../engines/remote/index.ts';
import { toCatalogModel } from './models.ts';

interface EngineDeps {
  readonly clock: Clock;
  readonly tokens: TokenCounter;
  readonly log: Log;
  readonly tracer: Tracer;
  /** Replacements for configured engines by name, for tests. */
  readonly given: Readonly<Record<string, EngineSet>>;
}

interface Opened {
  readonly settings: EngineConfig;
  readonly apiKey: string | undefined;
  readonly set: EngineSet;
}

export class Engines {
  readonly #deps: EngineDeps;
  readonly #startedAtMs: number;
  #opened: ReadonlyMap<string, Opened> = new Map();
  readonly #retired = new Map<EngineSet, NodeJS.Timeout>();

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.now();
  }

  /**
   * Switches to the engines of a configuration and returns its models. Engines with unchanged settings keep running;
   * the others close once no request can run on them.
   * @throws if an engine cannot be opened or a model has no engine; then nothing changes
   */
  use(config: Config): readonly CatalogModel[] {
    const next = new Map<string, Opened>();
    try {
      for (const [name, settings] of Object.entries(config.engines)) {
        next.set(name, this.#open(name, settings, config));
      }
      const sets = new Map([...next].map(([name, { set }]) => [name, set]));
      const models = config.models.map((model) => toCatalogModel(model, sets, this.#startedAtMs));
      this.#take(next, config.server.requestMsMax);
      return models;
    } catch (error) {
      const running = this.#sets();
      for (const { set } of next.values()) if (!running.includes(set)) void set.close();
      throw error;
    }
  }

  /** For readiness. An unreachable engine does not make the server unready. */
  counts() {
    const all = [...this.#opened.values()];
    const up = all.filter(({ set }) => set.reading().isUp).length;
    return { up, down: all.length - up };
  }

  readings() {
    return [...this.#opened].map(([engine, { set }]) => ({ engine, ...set.reading() }));
  }

  async close(): Promise<void> {
    for (const timer of this.#retired.values()) clearTimeout(timer);
    const sets = [...this.#sets(), ...this.#retired.keys()];
    await Promise.all(sets.map((set) => set.close()));
  }

  #sets(): EngineSet[] {
    return [...this.#opened.values()].map(({ set }) => set);
  }

  /** Returns the open engine if its settings and key are the same. */
  #open(name: string, settings: EngineConfig, { engineKeys, server }: Config): Opened {
    const apiKey = engineKeys[name]?.reveal();
    const opened = this.#opened.get(name);
    if (opened && opened.apiKey === apiKey && isDeepStrictEqual(opened.settings, settings)) return opened;
    const create = () => this.#create(name, settings, apiKey, server.requestMsMax);
    return { settings, apiKey, set: this.#deps.given[name] ?? create() };
  }

  #create(name: string, settings: EngineConfig, apiKey: string | undefined, requestMsMax: number): EngineSet {
    const { clock, tokens, log, tracer } = this.#deps;
    const deps = { name, apiKey, log, traceHeaders: () => tracer.outgoing() };
    switch (settings.kind) {
      case 'builtin':
        return createBuiltinEngine(settings, { clock, tokens, requestMsMax });
      case 'openai':
        return createOpenAiEngine(settings, deps);
      case 'remote':
        return createRemoteEngine(settings, deps);
    }
  }

  #take(next: ReadonlyMap<string, Opened>, requestMsMax: number): void {
    const kept = new Set([...next.values()].map(({ set }) => set));
    for (const set of this.#sets()) if (!kept.has(set)) this.#retire(set, requestMsMax);
    this.#opened = next;
  }

  /** Closes the engine after the longest time that a request on it may take. */
  #retire(set: EngineSet, requestMsMax: number): void {
    const timer = setTimeout(() => {
      this.#retired.delete(set);
      void set.close();
    }, requestMsMax);
    this.#retired.set(set, timer.unref());
  }
}

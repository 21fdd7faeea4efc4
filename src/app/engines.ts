/** The engines and the models of a configuration, and how they give way to those of another while the server runs. */
import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Config, EngineConfig } from '../config/config.ts';
import type { CatalogModel } from '../core/catalog/catalog.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { TokenCounter } from '../core/ports/engines.ts';
import type { Log } from '../core/ports/log.ts';
import type { Tracer } from '../core/ports/tracer.ts';
import { createBuiltinEngine } from '../engines/builtin/index.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { createOpenAiEngine } from '../engines/openai/index.ts';
import { createRemoteEngine } from '../engines/remote/index.ts';
import { toCatalogModel } from './models.ts';

export interface EngineDeps {
  readonly clock: Clock;
  readonly tokens: TokenCounter;
  readonly log: Log;
  readonly tracer: Tracer;
  /** Engines that stand in the place of those that the configuration describes, by their names. */
  readonly given: Readonly<Record<string, EngineSet>>;
}

interface Opened {
  readonly settings: EngineConfig;
  readonly apiKey: string | undefined;
  readonly set: EngineSet;
}

export class Engines {
  readonly #deps: EngineDeps;
  readonly #scratchDir: string;
  #opened: ReadonlyMap<string, Opened> = new Map();
  readonly #retired = new Map<EngineSet, NodeJS.Timeout>();

  /** @param scratchDir where uploads lie while they are transcribed */
  constructor(scratchDir: string, deps: EngineDeps) {
    this.#deps = deps;
    this.#scratchDir = scratchDir;
    // A process that was killed may have left uploads behind.
    rmSync(scratchDir, { recursive: true, force: true });
  }

  /**
   * Switches to the engines of a configuration and returns its models. Engines whose settings are the same keep running; those that
   * it no longer names close when no request can run on them any more.
   * @throws if an engine cannot be opened or a model names none of them; then nothing changes
   */
  use(config: Config): readonly CatalogModel[] {
    const next = new Map<string, Opened>();
    try {
      for (const [name, settings] of Object.entries(config.engines)) {
        next.set(name, this.#same(name, settings, config) ?? this.#open(name, settings, config));
      }
      const sets = new Map([...next].map(([name, { set }]) => [name, set]));
      const models = config.models.map((model) => toCatalogModel(model, sets));
      this.#take(next, config.server.requestMsMax);
      return models;
    } catch (error) {
      this.#drop(next);
      throw error;
    }
  }

  /** An engine that is down does not make the server unready: the others serve, and it is tried again. */
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
    const sets = [...[...this.#opened.values()].map(({ set }) => set), ...this.#retired.keys()];
    await Promise.all(sets.map((set) => set.close()));
  }

  #same(name: string, settings: EngineConfig, { engineKeys }: Config): Opened | undefined {
    const opened = this.#opened.get(name);
    const isSame =
      opened !== undefined &&
      opened.apiKey === engineKeys[name]?.reveal() &&
      isDeepStrictEqual(opened.settings, settings);
    return isSame ? opened : undefined;
  }

  #open(name: string, settings: EngineConfig, config: Config): Opened {
    const apiKey = config.engineKeys[name]?.reveal();
    return { settings, apiKey, set: this.#deps.given[name] ?? this.#create(name, settings, config) };
  }

  #create(name: string, settings: EngineConfig, config: Config): EngineSet {
    const { clock, tokens, log, tracer } = this.#deps;
    const apiKey = config.engineKeys[name]?.reveal();
    const caller = { name, apiKey, log, traceHeaders: () => tracer.outgoing() };
    switch (settings.kind) {
      case 'builtin': {
        const scratchDir = this.#scratchDir;
        const { requestMsMax } = config.server;
        return createBuiltinEngine(settings, { clock, tokens, scratchDir, requestMsMax });
      }
      case 'openai':
        return createOpenAiEngine(settings, caller);
      case 'remote':
        return createRemoteEngine(settings, caller);
    }
  }

  #drop(next: ReadonlyMap<string, Opened>): void {
    for (const opened of next.values()) if (!this.#runs(opened)) void opened.set.close();
  }

  #runs({ set }: Opened): boolean {
    return [...this.#opened.values()].some((opened) => opened.set === set);
  }

  #take(next: ReadonlyMap<string, Opened>, requestMsMax: number): void {
    const kept = new Set([...next.values()].map(({ set }) => set));
    for (const { set } of this.#opened.values()) {
      if (!kept.has(set)) this.#retire(set, requestMsMax);
    }
    this.#opened = next;
  }

  /** Every request has ended by then that could have begun on it. */
  #retire(set: EngineSet, requestMsMax: number): void {
    const timer = setTimeout(() => {
      this.#retired.delete(set);
      void set.close();
    }, requestMsMax);
    this.#retired.set(set, timer.unref());
  }
}

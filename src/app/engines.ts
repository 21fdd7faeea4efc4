/** Opens the configured engines, and replaces them on a reload. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import type { TokenCounter } from '../core/entities/engine.ts';
import type { CatalogModel } from '../core/entities/model.ts';
import type { EngineState } from '../core/entities/server.ts';
import type { Tracer } from '../core/entities/tracer.ts';
import type { Clock } from '../core/values/clock.ts';
import { ParleyError } from '../core/values/errors.ts';
import type { Log } from '../core/values/log.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { EngineCounts } from '../engines/run/engine-counts.ts';
import { ModelStore } from '../models/model-store.ts';
import type { Supervisor } from '../supervisor/supervisor.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { disabledReason, engineName, type OpenedEngineSettings, openedEngines } from './local-programs.ts';
import { toCatalogModel } from './models.ts';

interface EngineDeps {
  readonly clock: Clock;
  readonly tokens: TokenCounter;
  readonly log: Log;
  readonly tracer: Tracer | undefined;
  readonly supervisor: Supervisor;
  readonly metrics: Pick<Metrics, 'engineRequest'>;
  /** Replacements for configured engines by name, for tests. */
  readonly engines?: Readonly<Record<string, EngineSet>>;
}

interface Opened {
  readonly settings: OpenedEngineSettings;
  readonly apiKey: string | undefined;
  readonly set: EngineSet;
}

export class Engines {
  readonly #deps: EngineDeps;
  readonly #startedAtMs: number;
  #opened: ReadonlyMap<string, Opened> = new Map();
  /** By the name of the engine. An engine with changed settings keeps them. */
  readonly #counts = new Map<string, EngineCounts>();
  readonly #retired = new Map<EngineSet, NodeJS.Timeout>();
  /** Reading the files of a model, which can take minutes, must not keep the process. */
  readonly #closing = new AbortController();

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.now();
  }

  /**
   * Switches to the engines of a configuration and returns its models. Engines with unchanged settings keep running;
   * the others close once no request can run on them.
   * Rejects if an engine cannot be opened or a model has no engine; then nothing changes.
   */
  async use(config: Config): Promise<readonly CatalogModel[]> {
    const next = new Map<string, Opened>();
    try {
      for (const [name, settings] of openedEngines(config))
        next.set(name, await this.#open(name, settings, config));
      const models = config.models.map((model) => {
        const find = (configured: string) => {
          const name = engineName(config, model, configured);
          const opened = next.get(name);
          const disabled = disabledReason(config, model, configured);
          // Refusals of its own are no failures of the engine.
          if (disabled !== undefined) return { set: closedEngine(disabled), counts: this.#newCounts(name) };
          return opened && { set: opened.set, counts: this.#countsOf(name) };
        };
        return toCatalogModel(model, find, this.#startedAtMs);
      });
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

  readings(): EngineState[] {
    return [...this.#opened].map(([name, { settings, set }]) => {
      const { kind } = settings;
      return {
        name,
        kind,
        ...(kind === 'local' && { fileBytes: settings.fileBytes }),
        ...set.reading(),
        requests: this.#countsOf(name).state(),
        disabled: settings.disabled ?? false,
      };
    });
  }

  /** The program of an engine, by the name of its reading. @throws `not_found` if there is none */
  program(name: string) {
    const program = this.#opened.get(name)?.set.program;
    if (program !== undefined) return program;
    const message = `No engine \`${name}\` of this server is a program that Parley can start.`;
    throw new ParleyError('not_found', { message, param: 'name' });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const timer of this.#retired.values()) clearTimeout(timer);
    const sets = [...this.#sets(), ...this.#retired.keys()];
    await Promise.all(sets.map((set) => set.close()));
  }

  #countsOf(engine: string): EngineCounts {
    const counts = this.#counts.get(engine) ?? this.#newCounts(engine, this.#deps.metrics.engineRequest);
    this.#counts.set(engine, counts);
    return counts;
  }

  #newCounts(engine: string, onEnd: Metrics['engineRequest'] = () => undefined): EngineCounts {
    return new EngineCounts({ engine, clock: this.#deps.clock, onEnd });
  }

  #sets(): EngineSet[] {
    return [...this.#opened.values()].map(({ set }) => set);
  }

  /** Returns the open engine if its settings and key are the same. */
  async #open(name: string, settings: OpenedEngineSettings, { engineKeys }: Config): Promise<Opened> {
    const apiKey = engineKeys[name]?.reveal();
    const opened = this.#opened.get(name);
    if (opened && opened.apiKey === apiKey && isDeepStrictEqual(opened.settings, settings)) return opened;
    const replaced = this.#deps.engines?.[name];
    return { settings, apiKey, set: replaced ?? (await this.#create(name, settings, apiKey)) };
  }

  /** Loads the code of a kind when it is configured: the clients of the others take 10 MB. */
  async #create(name: string, settings: OpenedEngineSettings, apiKey?: string): Promise<EngineSet> {
    const { clock, tokens, log, tracer, supervisor } = this.#deps;
    const deps = { name, apiKey, log, traceHeaders: tracer && (() => tracer.outgoing()) };
    if (settings.kind === 'anthropic')
      return (await import('../engines/anthropic/index.ts')).createAnthropicEngine(settings, deps);
    if (settings.kind === 'builtin')
      return (await import('../engines/builtin/index.ts')).createBuiltinEngine(settings, { clock, tokens });
    if (settings.kind === 'openai' || settings.kind === 'remote') {
      const { createOpenAiEngine } = await import('../engines/openai/index.ts');
      return createOpenAiEngine({ ...settings, isParley: settings.kind === 'remote' }, deps);
    }
    const { createProcessEngine } = await import('../engines/process/index.ts');
    if (settings.kind === 'process')
      return createProcessEngine(settings, { ...deps, program: supervisor.open(name, settings) });
    const { program, dataDir, model } = settings;
    if ('advice' in program) return closedEngine(`${program.found} ${program.advice}`);
    // Runtimes work with changed weights without a word.
    const check = async () => {
      const { checkFiles } = await import('../models/checked-files.ts');
      await checkFiles(new ModelStore(dataDir), model, this.#closing.signal);
    };
    return createProcessEngine(program, { ...deps, program: supervisor.open(name, program, check) });
  }

  #take(next: ReadonlyMap<string, Opened>, requestMsMax: number): void {
    const kept = new Set([...next.values()].map(({ set }) => set));
    for (const set of this.#sets()) if (!kept.has(set)) this.#retire(set, requestMsMax);
    this.#opened = next;
    for (const name of this.#counts.keys()) if (!next.has(name)) this.#counts.delete(name);
  }

  /** Closes the engine after the longest time that a request on it may take. */
  #retire(set: EngineSet, requestMsMax: number): void {
    set.retire?.();
    const timer = setTimeout(() => {
      this.#retired.delete(set);
      void set.close();
    }, requestMsMax);
    this.#retired.set(set, timer.unref());
  }
}

/** An engine that cannot or must not run. Its models are listed to nobody. @param reason in a sentence */
function closedEngine(reason: string): EngineSet {
  const availability = () => ({ available: false, reason }) as const;
  const refuse = (): never => {
    throw new ParleyError('engine_unavailable', { message: reason, hasNotRun: true });
  };
  return {
    speech: () => ({ availability, voices: refuse, check: refuse, synthesize: refuse }),
    // The other engines of a model offer what they can.
    transcription: () => ({ availability, reportsSpeakers: true, transcribe: refuse }),
    chat: () => {
      const answer = async () => refuse();
      return { availability, takesBlocks: true, countPrompt: answer, complete: answer, stream: refuse };
    },
    reading: () => ({ isUp: false, waiting: 0 }),
    close: async () => undefined,
  };
}

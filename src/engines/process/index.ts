import type { ProgramState } from '../../core/entities/server.ts';
import { OwnSignal } from '../../core/values/signal.ts';
import type { EngineSet } from '../engine-set.ts';
import type { ServingProgram } from '../openai/calls/program-call.ts';
import type { UpstreamDeps } from '../openai/calls/upstream.ts';
import { createOpenAiEngine } from '../openai/index.ts';
import type { OpenAiSettings } from '../openai/settings.ts';

/** Settings of the calls, as those of any server with the OpenAI API. */
export interface ProcessSettings
  extends Pick<OpenAiSettings, 'models' | 'transcriptionFormat' | 'outputLimit' | 'voices' | 'parameters'>,
    Pick<OpenAiSettings, 'callsMax' | 'callQueueMax' | 'keepAliveMs' | 'firstByteMs' | 'totalMs'> {
  /** Tokens of prompt and answer together, for chat. Default: those of the model in the catalog. */
  readonly contextTokens?: number | undefined;
  /** Tokens of one answer. Default: those of the model in the catalog. */
  readonly outputTokensMax?: number | undefined;
  /** Whether it speaks the Realtime API for live speech. Default: each turn is transcribed as a file. */
  readonly realtime?: boolean | undefined;
}

/** A program with its supervisor. */
interface SupervisedProgram extends ServingProgram {
  unload(): void;
  state(): ProgramState;
  retire(): void;
  stop(reason: string): Promise<void>;
}

interface ProcessDeps extends Omit<UpstreamDeps, 'apiKey'> {
  readonly program: SupervisedProgram;
}

/**
 * A program that speaks the OpenAI API and that Parley starts and ends. Everything that can be asked without a request
 * comes from the configuration, so that nothing else starts the program.
 */
export function createProcessEngine(settings: ProcessSettings, deps: ProcessDeps): EngineSet {
  const { program } = deps;
  const { callsMax, callQueueMax, contextTokens, outputTokensMax } = settings;
  const server = createOpenAiEngine(upstreamSettings(settings), { ...deps, apiKey: undefined });
  return {
    ...server,
    chat: (id) => ({ ...server.chat(id, false), contextTokens: () => contextTokens, outputTokensMax }),
    reading: () => {
      const { waiting, running = 0 } = server.reading();
      const state = program.state();
      return {
        isUp: state.state !== 'failed',
        waiting: waiting + state.waiting,
        waitingMax: callQueueMax,
        running: running - state.waiting,
        runningMax: callsMax,
        program: state,
      };
    },
    program: {
      load: async () => (await program.acquire(new OwnSignal())).release(false),
      unload: () => program.unload(),
    },
    retire: () => program.retire(),
    close: async () => {
      await server.close();
      await program.stop('the engine is closed');
    },
  };
}

/** How long a response may pause once it has begun. */
const pauseMsMax = 60_000;

/** The supervisor does what the breaker and readings of lists do for a server elsewhere. */
function upstreamSettings({ realtime = false, ...settings }: ProcessSettings): OpenAiSettings {
  return {
    ...settings,
    idleMs: pauseMsMax,
    baseUrl: 'http://localhost/v1',
    headers: {},
    connectMs: 5_000,
    retriesMax: 2,
    retryStatuses: [],
    breakerFailures: Infinity,
    breakerOpenMs: 1,
    voicesEveryMs: Infinity,
    realtime,
    realtimeFormat: 'pcm',
    // A connection to a program costs little, and another session may wait for its place.
    realtimeKeptMs: 1_000,
  };
}

import type {
  ChatEngine,
  SpeechEngine,
  SpeechOutput,
  TranscriptionEngine,
} from '../../core/entities/engine.ts';
import type { ProgramState } from '../../core/entities/server.ts';
import type { Log } from '../../core/values/log.ts';
import { OwnSignal } from '../../core/values/signal.ts';
import type { EngineSet } from '../engine-set.ts';
import type { ServingProgram } from '../openai/calls/program-call.ts';
import type { OpenAiSettings } from '../openai/index.ts';
import { reportedIn } from '../openai/transcription/format.ts';
import { configuredVoices } from '../openai/voices/voice-list.ts';
import { uploadSpeaker } from '../upload-speaker.ts';

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

interface ProcessDeps {
  /** The engine's name in the configuration. */
  readonly name: string;
  readonly log: Log;
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
  readonly program: SupervisedProgram;
}

/**
 * A program that speaks the OpenAI API and that Parley starts and ends. Everything that can be asked without a request
 * comes from the configuration, so that nothing else starts the program. The code of the calls is loaded at first use.
 */
export function createProcessEngine(settings: ProcessSettings, deps: ProcessDeps): EngineSet {
  const { program } = deps;
  let opening: Promise<EngineSet> | undefined;
  let opened: EngineSet | undefined;
  const open = () => {
    opening ??= import('../openai/index.ts').then(({ createOpenAiEngine }) => {
      opened = createOpenAiEngine(upstreamSettings(settings), { ...deps, apiKey: undefined });
      return opened;
    });
    return opening;
  };
  // A session cannot wait for the code.
  if (settings.realtime) void open();
  return {
    speech: (id) => speech(settings, async () => offered((await open()).speech?.(id))),
    transcription: (id) => {
      const openTranscription = async () => offered((await open()).transcription?.(id));
      return transcription(settings, openTranscription, () => opened?.transcription?.(id));
    },
    chat: (id) => {
      let engine: Promise<ChatEngine> | undefined;
      const openChat = async () => offered((await open()).chat?.(id, false));
      return chat(settings, () => {
        engine ??= openChat();
        return engine;
      });
    },
    reading: () => {
      const { callsMax, callQueueMax } = settings;
      const { waiting = 0, running = 0 } = opened?.reading() ?? {};
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
      await opened?.close();
      await program.stop('the engine is closed');
    },
  };
}

type Open<Engine> = () => Promise<Engine>;

function speech({ voices }: ProcessSettings, open: Open<SpeechEngine>): SpeechEngine {
  const source = configuredVoices(voices);
  return {
    availability: () => source.availability(),
    voices: () => source.value(),
    check: () => undefined,
    synthesize: (request, signal) => {
      let output: SpeechOutput | undefined;
      const audio = async function* () {
        output = (await open()).synthesize(request, signal);
        yield* output.audio;
      };
      return { audio: audio(), durationMs: () => output?.durationMs() };
    },
  };
}

/** @param opened the engine if its code is loaded */
function transcription(
  { transcriptionFormat, realtime }: ProcessSettings,
  open: Open<TranscriptionEngine>,
  opened: () => TranscriptionEngine | undefined,
): TranscriptionEngine {
  const engine: TranscriptionEngine = {
    availability: () => ({ available: true }),
    ...reportedIn(transcriptionFormat),
    transcribe: async function* (request) {
      yield* (await open()).transcribe(request);
    },
  };
  if (!realtime) return engine;
  return { ...engine, openSpeaker: () => opened()?.openSpeaker?.() ?? uploadSpeaker(engine) };
}

function chat({ contextTokens, outputTokensMax }: ProcessSettings, open: Open<ChatEngine>): ChatEngine {
  return {
    availability: () => ({ available: true }),
    contextTokens: () => contextTokens,
    outputTokensMax,
    complete: async (params, signal) => (await open()).complete(params, signal),
    stream: async function* (params, signal) {
      yield* (await open()).stream(params, signal);
    },
  };
}

function offered<Engine>(engine: Engine | undefined): Engine {
  if (engine === undefined) throw new Error('the OpenAI engine offers every operation');
  return engine;
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

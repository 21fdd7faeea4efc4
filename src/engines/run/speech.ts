import type {
  SpeechEngine,
  SpeechOutput,
  SpeechRequest,
  Voice,
  VoiceList,
} from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Candidate, Candidates, ModelEngines } from './model-engines.ts';
import { runStream } from './run.ts';

const noSharedVoice = {
  available: false,
  reason: 'The engines of this model have no voice in common. Do they serve the same model?',
} as const;

/**
 * The engines of a speech model. Its voices are those that all available engines share. Of several engines the one that
 * speaks a text also checks it.
 */
export function runSpeech(engines: ModelEngines<SpeechEngine>): SpeechEngine {
  const { only } = engines;
  return {
    availability: () => {
      const availability = engines.availability();
      if (only || !availability.available) return availability;
      return sharedVoices(engines.available()).voices.length > 0 ? availability : noSharedVoice;
    },
    voices: () => {
      if (only) return only.voices();
      const list = sharedVoices(engines.available());
      if (list.voices.length > 0) return list;
      throw new ParleyError('engine_unavailable', { message: noSharedVoice.reason });
    },
    check: (request, signal) => speakersFor(engines, request, signal)[0].engine.check(request, signal),
    synthesize: (request, signal) => synthesize(engines, request, signal),
  };
}

function synthesize(
  engines: ModelEngines<SpeechEngine>,
  request: SpeechRequest,
  signal: Signal,
): SpeechOutput {
  let output: SpeechOutput | undefined;
  const speak = (engine: SpeechEngine) => {
    output = engine.synthesize(request, signal);
    return output.audio;
  };
  // So far only the first engine of that moment has checked the text.
  const checkAndSpeak = async function* (engine: SpeechEngine) {
    await engine.check(request, signal);
    yield* speak(engine);
  };
  const speakers = speakersFor(engines, request, signal);
  const audio = runStream(speakers, signal, engines.only ? speak : checkAndSpeak);
  return { audio, durationMs: () => output?.durationMs() };
}

function sharedVoices(candidates: Candidates<SpeechEngine>): VoiceList {
  const lists = candidates.map(({ engine }) => engine.voices());
  const [first, ...others] = lists.map(({ voices }) => voices);
  const voices = first?.filter(({ id }) => others.every((list) => has(list, id))) ?? [];
  const defaultVoice = lists.find((list) => has(voices, list.defaultVoice))?.defaultVoice;
  return { voices, defaultVoice: defaultVoice ?? voices[0]?.id ?? '' };
}

/** The engines that have the voice, in order. If none has it, all engines, so that the first one refuses it. */
function speakersFor(
  engines: ModelEngines<SpeechEngine>,
  { voice }: SpeechRequest,
  { owner }: Signal,
): Candidates<SpeechEngine> {
  const order = engines.orderFor(owner);
  if (engines.only) return order;
  const canSpeak = ({ engine }: Candidate<SpeechEngine>) => has(engine.voices().voices, voice);
  const [first, ...others] = order.filter(canSpeak);
  return first === undefined ? order : [first, ...others];
}

function has(voices: readonly Voice[], wanted: string): boolean {
  return voices.some(({ id }) => id === wanted);
}

import type {
  SpeechEngine,
  SpeechOutput,
  SpeechRequest,
  Voice,
  VoiceList,
} from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { firstStream } from './attempts.ts';
import { type EngineChoice, type EngineList, EngineOrder } from './engine-order.ts';

const noSharedVoice = {
  available: false,
  reason: 'The engines of this model have no voice in common. Do they serve the same model?',
} as const;

/**
 * Several engines of one speech model. Its voices are those that all available engines share. The engine that speaks a
 * text also checks it.
 */
export function failoverSpeech(engines: EngineList<SpeechEngine>, choice: EngineChoice): SpeechEngine {
  if (engines.length === 1) return engines[0];
  const order = new EngineOrder(engines, choice);
  return {
    availability: () => {
      const availability = order.availability();
      if (!availability.available) return availability;
      return sharedVoices(order.available()).voices.length > 0 ? availability : noSharedVoice;
    },
    voices: () => {
      const list = sharedVoices(order.available());
      if (list.voices.length > 0) return list;
      throw new ParleyError('engine_unavailable', { message: noSharedVoice.reason });
    },
    check: (request, signal) => speakersOf(order.peek(), request)[0]?.check(request, signal),
    synthesize: (request, signal) => synthesize(speakersOf(order.take(), request), request, signal),
  };
}

function synthesize(engines: readonly SpeechEngine[], request: SpeechRequest, signal: Signal): SpeechOutput {
  let output: SpeechOutput | undefined;
  const speak = async function* (engine: SpeechEngine) {
    // So far only the first engine of that moment has checked the text.
    await engine.check(request, signal);
    output = engine.synthesize(request, signal);
    yield* output.audio;
  };
  return { audio: firstStream(engines, signal, speak), durationMs: () => output?.durationMs() };
}

function sharedVoices(engines: EngineList<SpeechEngine>): VoiceList {
  const lists = engines.map((engine) => engine.voices());
  const [first, ...others] = lists.map(({ voices }) => voices);
  const voices = first?.filter(({ id }) => others.every((list) => has(list, id))) ?? [];
  const defaultVoice = lists.find((list) => has(voices, list.defaultVoice))?.defaultVoice;
  return { voices, defaultVoice: defaultVoice ?? voices[0]?.id ?? '' };
}

/** The engines that have the voice. If none has it, all engines, so that the first one refuses it. */
function speakersOf(order: EngineList<SpeechEngine>, { voice }: SpeechRequest): readonly SpeechEngine[] {
  const speakers = order.filter((engine) => has(engine.voices().voices, voice));
  return speakers.length === 0 ? order : speakers;
}

function has(voices: readonly Voice[], wanted: string): boolean {
  return voices.some(({ id }) => id === wanted);
}

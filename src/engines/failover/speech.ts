import { ParleyError } from '../../core/errors.ts';
import type {
  SpeechEngine,
  SpeechOutput,
  SpeechRequest,
  Voice,
  VoiceList,
} from '../../core/ports/engines.ts';
import { firstStream } from './attempts.ts';
import { availabilityOf } from './availability.ts';
import { type Balance, type Listed, Turns } from './turns.ts';

const nothingShared = {
  available: false,
  reason: 'The engines of this model have no voice in common. Do they serve the same model?',
} as const;

/**
 * One engine of several that serve the same speech model. Its voices are those that all of them have that can work now, so
 * that whichever is asked can speak; a text is checked by the engine that is to speak it.
 */
export function failoverSpeech(engines: Listed<SpeechEngine>, balance: Balance): SpeechEngine {
  if (engines.length === 1) return engines[0];
  const turns = new Turns(engines, balance);
  return {
    availability: () => {
      const availability = availabilityOf(engines);
      if (!availability.available) return availability;
      return sharedVoices(turns.available()).voices.length > 0 ? availability : nothingShared;
    },
    voices: () => {
      const list = sharedVoices(turns.available());
      if (list.voices.length > 0) return list;
      throw new ParleyError('engine_unavailable', { message: nothingShared.reason });
    },
    check: (request) => speakersOf(turns.next(), request)[0]?.check(request),
    synthesize: (request, signal) => synthesize(speakersOf(turns.take(), request), request, signal),
  };
}

function synthesize(
  line: readonly SpeechEngine[],
  request: SpeechRequest,
  signal: AbortSignal,
): SpeechOutput {
  let output: SpeechOutput | undefined;
  const speak = (engine: SpeechEngine) => {
    // Only the engine that was first in line a moment ago has checked the text.
    engine.check(request);
    output = engine.synthesize(request, signal);
    return output.audio;
  };
  return { audio: firstStream(line, signal, speak), durationMs: () => output?.durationMs() };
}

function sharedVoices(engines: Listed<SpeechEngine>): VoiceList {
  const lists = engines.map((engine) => engine.voices());
  const [first, ...others] = lists.map(({ voices }) => voices);
  const voices = first?.filter(({ id }) => others.every((list) => has(list, id))) ?? [];
  const defaultVoice = lists.find((list) => has(voices, list.defaultVoice))?.defaultVoice;
  return { voices, defaultVoice: defaultVoice ?? voices[0]?.id ?? '' };
}

/** Those that have the voice. What is named in no list is for the first in line to judge. */
function speakersOf(line: Listed<SpeechEngine>, { voice }: SpeechRequest): readonly SpeechEngine[] {
  const speakers = line.filter((engine) => has(engine.voices().voices, voice));
  return speakers.length === 0 ? line : speakers;
}

function has(voices: readonly Voice[], wanted: string): boolean {
  return voices.some(({ id }) => id === wanted);
}

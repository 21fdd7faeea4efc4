/** Worker thread of Moonshine: takes an utterance or a turn, returns its words. */
import { openVoiceDetector } from '../../../media/voice-detector.ts';
import { serveTasks } from '../../../threads/serve-tasks.ts';
import { type RecognisedWord, toSegments } from '../../recordings/transcript.ts';
import { cutAtSilences, utteranceSamplesMax } from '../../recordings/utterances.ts';
import { Moonshine } from './model.ts';
import { hasVoice, spokenText } from './speech-gate.ts';
import { timeWords } from './word-times.ts';

export interface MoonshineTask {
  /** 16 kHz mono. Speech longer than an utterance is cut at its pauses. */
  readonly samples: Int16Array;
}

let model: Promise<Moonshine> | undefined;

serveTasks<MoonshineTask, readonly RecognisedWord[]>({
  async run({ samples }) {
    model ??= Moonshine.start();
    const own = await model;
    if (samples.length <= utteranceSamplesMax) return recognise(own, samples);
    const words: RecognisedWord[] = [];
    for (const { utterance } of cutAtSilences([samples])) {
      if (utterance === undefined) continue;
      const recognised = await recognise(own, utterance.samples);
      const probability = recognised[0]?.probability ?? 0;
      const segments = toSegments(utterance, recognised);
      words.push(...segments.flatMap((segment) => segment.words).map((word) => ({ ...word, probability })));
    }
    return words;
  },
});

async function recognise(own: Moonshine, samples: Int16Array): Promise<RecognisedWord[]> {
  const detector = await openVoiceDetector();
  const isVoice = hasVoice(samples, detector);
  detector.close();
  if (!isVoice) return [];
  const recognised = await own.hear(Float32Array.from(samples, (sample) => sample / 32_768));
  const probability = Math.exp(recognised.logProbability);
  return timeWords(spokenText(recognised), samples).map((word) => ({ ...word, probability }));
}

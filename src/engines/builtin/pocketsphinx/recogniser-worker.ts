/** Worker thread of the recogniser: takes an utterance, returns its words. */
import { readRecogniserImage } from '../../../media/hearing-files.ts';
import { serveTasks } from '../../../threads/serve-tasks.ts';
import type { RecognisedWord } from './hypothesis.ts';
import { Recogniser } from './recogniser.ts';

export interface RecognitionTask {
  readonly module: WebAssembly.Module;
  /** 16 kHz mono. */
  readonly samples: Int16Array;
}

let recogniser: Promise<Recogniser> | undefined;

serveTasks<RecognitionTask, readonly RecognisedWord[]>({
  async run({ module, samples }) {
    recogniser ??= Recogniser.start(module, readRecogniserImage());
    return (await recogniser).recognise(samples);
  },
});

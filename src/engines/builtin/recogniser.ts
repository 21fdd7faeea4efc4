import type { LiveSpeaker } from '../../core/entities/live.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { RecognisedWord } from '../recordings/transcript.ts';
import type { Utterance } from '../recordings/utterances.ts';

/** Recognises speech in worker threads. */
export interface Recogniser {
  /** Takes a place for the utterances of one file, until `signal` aborts. */
  openFile(signal: Signal): Promise<(utterance: Utterance) => Promise<readonly RecognisedWord[]>>;
  /** Missing if it takes whole turns only. */
  openSpeaker?(): LiveSpeaker;
  close(): Promise<void>;
}

import type { LiveSpeaker } from '../../core/entities/live.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { RecognisedWord } from './pocketsphinx/hypothesis.ts';
import type { Utterance } from './pocketsphinx/utterances.ts';

/** Recognises speech in worker threads. */
export interface Recogniser {
  /** Takes a place for the utterances of one file, until `signal` aborts. */
  openFile(
    signal: Signal,
    owner: string | undefined,
  ): Promise<(utterance: Utterance) => Promise<readonly RecognisedWord[]>>;
  openSpeaker(): LiveSpeaker;
  close(): Promise<void>;
}

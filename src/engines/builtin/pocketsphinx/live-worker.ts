/** Worker thread that recognises one turn of live speech at a time. A session is a turn, a task its next samples. */
import { readRecogniserImage } from '../../../media/hearing-files.ts';
import { serveTasks } from '../../../threads/serve-tasks.ts';
import type { RecognisedWord } from './hypothesis.ts';
import { LiveRecogniser } from './live-recogniser.ts';

export interface LiveTask {
  /** Given with the first task of a turn. */
  readonly begin?: { readonly module: WebAssembly.Module; readonly voice: Int16Array | undefined };
  readonly samples: Int16Array<ArrayBuffer>;
  /** Whether to return the words so far. */
  readonly isPartialWanted: boolean;
  /** Whether these are the turn's last samples. */
  readonly isLast: boolean;
}

export interface LiveResult {
  /** The words so far, if requested. */
  readonly partial: string | undefined;
  /** The words of the turn, after its last samples. */
  readonly words: readonly RecognisedWord[] | undefined;
}

let recogniser: Promise<LiveRecogniser> | undefined;
/** The turn that has begun and not ended. */
let openTurn: number | undefined;

serveTasks<LiveTask, LiveResult>({
  async run({ begin, samples, isPartialWanted, isLast }, turn) {
    if (begin) recogniser ??= LiveRecogniser.start(begin.module, readRecogniserImage());
    if (recogniser === undefined) throw new Error('the turn has not begun');
    const live = await recogniser;
    if (begin) live.begin(begin.voice);
    openTurn = turn;
    live.feed(samples);
    const partial = isPartialWanted ? live.partial() : undefined;
    if (!isLast) return { partial, words: undefined };
    openTurn = undefined;
    return { partial, words: live.finish() };
  },
  async close(turn) {
    if (openTurn !== turn) return;
    openTurn = undefined;
    (await recogniser)?.finish();
  },
});

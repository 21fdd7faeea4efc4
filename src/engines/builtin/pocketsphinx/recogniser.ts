/**
 * One running pocketsphinx_batch. It loads its model once and then takes utterances one after the other: the list of
 * files that it works through is a pipe of ours, and it writes each result unbuffered when it has it.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Child, startChild } from '../../../media/decoding/child-process.ts';
import { decodedSampleRate } from '../../../media/decoding/decode.ts';
import { HypothesisReader, type RecognisedWord } from './hypothesis.ts';
import type { Installation } from './installation.ts';
import { createNamedPipes, type NamedPipes } from './named-pipes.ts';

/** Three times what it needs: 165 MB were seen. */
const addressSpaceBytesMax = 512 * 1024 * 1024;
/** An utterance takes a fifth of its length. So many times its length, and the start on top, mean that it hangs. */
const recognitionTimesLengthMax = 10;
const startMsMax = 30_000;

const utteranceName = 'utterance';
const utteranceExtension = '.pcm';

export interface Recogniser {
  /** False once the process has ended or was told to. */
  readonly isAlive: boolean;
  /**
   * The words of 16 kHz mono `samples`. One call at a time. Rejects with an `Error` when the process ends before it is done,
   * or takes far too long and is ended; it is of no more use then.
   */
  recognise(samples: Int16Array): Promise<readonly RecognisedWord[]>;
  /** Ends the process at once. */
  kill(): void;
  /** Settles when the process has ended; never rejects. */
  readonly ended: Promise<unknown>;
}

/** Starts a recogniser. Its pipes and utterances lie in a folder of its own within `scratchDir`, gone when it has ended. */
export async function startRecogniser(installation: Installation, scratchDir: string): Promise<Recogniser> {
  const pipes = await createNamedPipes(scratchDir);
  const child = startChild(installation.recogniserPath, recogniserArgs(installation, pipes), {
    prlimitPath: installation.decodeTools.prlimitPath,
    addressSpaceBytesMax,
  });
  child.stdout.resume();
  child.stderr.resume();
  const results = new ResultLines(child, pipes.responses);
  let isAlive = true;
  const ended = child.ended.then(async () => {
    isAlive = false;
    // What cannot be removed now goes with the whole scratch folder, at the next start.
    await pipes.remove().catch(() => undefined);
  });
  return {
    get isAlive() {
      return isAlive;
    },
    recognise: (samples) => recogniseFile(samples, pipes, results),
    kill: () => {
      // From here on nobody may count on it, though the system takes a moment to let go of it.
      isAlive = false;
      child.kill();
    },
    ended,
  };
}

async function recogniseFile(
  samples: Int16Array,
  pipes: NamedPipes,
  results: ResultLines,
): Promise<readonly RecognisedWord[]> {
  const path = join(pipes.folder, utteranceName + utteranceExtension);
  try {
    await writeFile(path, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), {
      mode: 0o600,
    });
    const lengthMs = (samples.length * 1000) / decodedSampleRate;
    pipes.write(utteranceName);
    return await results.next(startMsMax + lengthMs * recognitionTimesLengthMax);
  } finally {
    await rm(path, { force: true });
  }
}

function recogniserArgs({ model }: Installation, pipes: NamedPipes): string[] {
  return [
    ...['-hmm', model.acousticFolder, '-lm', model.languageModelPath, '-dict', model.dictionaryPath],
    ...['-ctl', pipes.requestPath, '-hypseg', pipes.responsePath, '-ctm', pipes.responsePath],
    ...['-cepdir', pipes.folder, '-cepext', utteranceExtension, '-adcin', 'yes', '-logfn', '/dev/null'],
    // The mean over the whole utterance: nothing of one utterance, or of one caller, reaches the next.
    ...['-cmn', 'batch'],
    // The recogniser's own removal of silence would shift all times after it.
    ...['-remove_silence', 'no'],
    // Less than the defaults keep alive in a search: a quarter less time at the same word error rate.
    ...['-maxhmmpf', '3000', '-maxwpf', '10'],
  ];
}

/** Reads the results of a child, one utterance at a time. The first fault ends the child and all that is asked of it. */
class ResultLines {
  readonly #child: Child;
  #failure: Error | undefined;
  #reader: HypothesisReader | undefined;
  #resolve: (words: readonly RecognisedWord[]) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(child: Child, lines: Readable) {
    this.#child = child;
    createInterface({ input: lines }).on('line', (line) => this.#onLine(line));
    void child.ended.then(({ failure, endSignal, exitCode }) => {
      this.#fail(`pocketsphinx_batch ended: ${failure?.message ?? endSignal ?? `exit code ${exitCode}`}`);
    });
  }

  next(timeoutMs: number): Promise<readonly RecognisedWord[]> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<readonly RecognisedWord[]>();
    this.#reader = new HypothesisReader();
    this.#resolve = resolve;
    this.#reject = reject;
    const timer = setTimeout(
      () => this.#fail(`pocketsphinx_batch gave no result in ${timeoutMs} ms`),
      timeoutMs,
    );
    return promise.finally(() => clearTimeout(timer));
  }

  #onLine(line: string): void {
    try {
      const words = this.#reader?.read(line);
      if (words === undefined) return;
      this.#reader = undefined;
      this.#resolve(words);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #fail(message: string): void {
    this.#failure ??= new Error(message);
    this.#reject(this.#failure);
    this.#child.kill();
  }
}

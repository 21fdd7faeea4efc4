/**
 * One running pocketsphinx_batch. It loads its model once and takes one utterance after the other: its list of files is a
 * named pipe, and it writes each result unbuffered.
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

/** Three times the 165 MB that it was seen to need. */
const addressSpaceBytesMax = 512 * 1024 * 1024;
/** Recognition takes a fifth of an utterance's length. After this multiple, plus the start, it counts as hung. */
const recognitionTimesLengthMax = 10;
const startMsMax = 30_000;

const utteranceName = 'utterance';
const utteranceExtension = '.pcm';

export interface Recogniser {
  /** False once the process has ended or was killed. */
  readonly isAlive: boolean;
  /**
   * The words of 16 kHz mono `samples`. One call at a time. Rejects with an `Error` if the process ends early or hangs and is
   * killed; it cannot be used again.
   */
  recognise(samples: Int16Array): Promise<readonly RecognisedWord[]>;
  /** Ends the process at once. */
  kill(): void;
  /** Settles when the process has ended; never rejects. */
  readonly ended: Promise<unknown>;
}

/** Starts a recogniser. Its pipes and utterances are in a new folder within `scratchDir`, removed when it ends. */
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
    // The next start removes the whole scratch folder.
    await pipes.remove().catch(() => undefined);
  });
  return {
    get isAlive() {
      return isAlive;
    },
    recognise: (samples) => recogniseFile(samples, pipes, results),
    kill: () => {
      // It must not be used any more, although the process takes a moment to end.
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
    // The mean over one utterance only, so that no utterance or caller influences the next.
    ...['-cmn', 'batch'],
    // The recogniser's own removal of silence would shift all times after it.
    ...['-remove_silence', 'no'],
    // Lower search limits than the defaults: a quarter less time at the same word error rate.
    ...['-maxhmmpf', '3000', '-maxwpf', '10'],
  ];
}

/** Reads the results of a child process, one utterance at a time. The first error ends the process. */
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

import { basename, extname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { JsonObject } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import type { TranscriptSegment } from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { type TranscriptFormat, transcriptFormats } from '../../codec/transcript-formats.ts';
import { makeFolder } from '../../files/folders.ts';
import { fileReason } from '../../files/reason.ts';
import { type ClientFlags, type JsonFlag, withClientFlags } from '../flags.ts';
import { CliError, interruptible, newCommand, ServerError, usageError } from '../terminal/command.ts';
import { ChangingLine } from '../terminal/status-bar.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';
import { spanText } from '../terminal/times.ts';
import { writeWhole } from '../terminal/whole-file.ts';

interface TranscribeFlags extends ClientFlags, JsonFlag {
  readonly format?: TranscriptFormat;
  readonly words?: boolean;
  readonly language?: string;
  readonly outputDir?: string;
}

type Outcome =
  | { readonly file: string; readonly transcript: string }
  | { readonly file: string; readonly error: Error };

const filesAtOnce = 2;
const extensions: Record<TranscriptFormat, string> = {
  text: '.txt',
  json: '.json',
  verbose_json: '.json',
  diarized_json: '.json',
  srt: '.srt',
  vtt: '.vtt',
};

export function transcribeCommand(): Command {
  const command = newCommand('transcribe', 'Turn recordings into text.')
    .argument('<file...>', 'recordings of at most 4 MB each')
    .addOption(
      new Option(
        '--format <format>',
        'the format of the transcript (default: text, with --json: json)',
      ).choices(transcriptFormats),
    )
    .option('--words', 'with the times of each word, in verbose_json')
    .option('--language <language>', 'the language spoken, such as en (a hint)')
    .option(
      '--output-dir <folder>',
      'write each transcript to a file in this folder (default: standard output)',
    )
    .option('--json', 'print one JSON document with all transcripts and failures');
  return withClientFlags(command).action(transcribe);
}

async function transcribe(files: string[], flags: TranscribeFlags, command: Command): Promise<void> {
  const format = formatOf(flags, command);
  const write = transcriptWriter(files, format, flags, command);
  const { clientServer, requestTranscript } = await import('../client/calls.ts');
  const server = clientServer(flags);
  await interruptible(async (signal) => {
    if (flags.outputDir !== undefined) makeOutputFolder(flags.outputDir);
    const progress = new Progress(files.length);
    const work = async (file: string): Promise<Outcome> => {
      const startedAt = performance.now();
      progress.started(file);
      const onSegment = ({ end, text }: TranscriptSegment) => progress.recognised(file, end * 1000, text);
      const outcome = await outcomeOf(file, () =>
        requestTranscript(server, file, { ...flags, format, onSegment, signal }),
      );
      const failure = 'error' in outcome ? outcome.error.message : undefined;
      progress.ended(file, failure ?? `done in ${spanText(performance.now() - startedAt)}`);
      return outcome;
    };
    const outcomes: Outcome[] = [];
    try {
      // In the order of the files. All may wait for an earlier one.
      const options = { concurrency: filesAtOnce, highWaterMark: files.length };
      const results: AsyncIterable<Outcome> = Readable.from(files).map(work, options);
      for await (const outcome of results) {
        signal.throwIfAborted();
        outcomes.push(await written(outcome, write, progress));
      }
    } finally {
      progress.close();
    }
    if (flags.json) await printJson({ files: outcomes.map(toJson) });
    reportFailures(outcomes);
  });
}

function formatOf({ format, words, json }: TranscribeFlags, command: Command): TranscriptFormat {
  const chosen = format ?? (words ? 'verbose_json' : json ? 'json' : 'text');
  if (words && chosen !== 'verbose_json') usageError(command, '--words needs --format verbose_json');
  if (json && !chosen.endsWith('json')) usageError(command, '--json needs --format json or verbose_json');
  return chosen;
}

type Writer = (file: string, transcript: string) => Promise<void>;

function transcriptWriter(
  files: readonly string[],
  format: TranscriptFormat,
  { outputDir, json }: TranscribeFlags,
  command: Command,
): Writer {
  if (json && outputDir !== undefined) usageError(command, 'give either --json or --output-dir');
  if (json) return async () => undefined;
  if (outputDir === undefined) {
    if (files.length > 1 && (format === 'srt' || format === 'vtt')) {
      usageError(command, `several ${format} files cannot be one output: add --output-dir <folder>`);
    }
    return (file, transcript) =>
      printData(files.length > 1 ? `==> ${file} <==\n${transcript}\n` : transcript);
  }
  const target = (file: string) => join(outputDir, basename(file, extname(file)) + extensions[format]);
  const twice = files.find(
    (file, index) => files.findIndex((other) => target(other) === target(file)) < index,
  );
  if (twice !== undefined) {
    usageError(command, `two files would be written to ${target(twice)}: transcribe ${twice} by itself`);
  }
  return (file, transcript) => writeWhole(target(file), transcript);
}

function makeOutputFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new CliError(
      `The folder ${folder} cannot be created (${fileReason(error)}). Choose another.`,
      error,
    );
  }
}

async function outcomeOf(file: string, run: () => Promise<string>): Promise<Outcome> {
  try {
    return { file, transcript: await run() };
  } catch (error) {
    return { file, error: error instanceof Error ? error : new CliError(String(error)) };
  }
}

/** Writes the transcript, which may also fail. */
async function written(outcome: Outcome, write: Writer, progress: Progress): Promise<Outcome> {
  if ('error' in outcome) return outcome;
  const { file, transcript } = outcome;
  return outcomeOf(file, async () => {
    await progress.around(() => write(file, transcript));
    return transcript;
  });
}

function toJson(outcome: Outcome): JsonObject {
  const { file } = outcome;
  if ('transcript' in outcome) return { file, transcript: JSON.parse(outcome.transcript) };
  const { error } = outcome;
  if (!(error instanceof ServerError)) return { file, error: { message: error.message } };
  return { file, error: { message: error.words, code: error.code, request_id: error.requestId } };
}

/** @throws CliError that lists the failed files, if any */
function reportFailures(outcomes: readonly Outcome[]): void {
  const failures = outcomes.filter((outcome) => 'error' in outcome);
  if (failures.length === 0) return;
  const lines = failures.map(({ file, error }) => `${file}: ${error.message}`);
  if (outcomes.length === 1) throw new CliError(lines.join());
  throw new CliError([`${failures.length} of ${outcomes.length} files failed:`, ...lines].join('\n  '));
}

const barCells = 24;
const redrawMs = 1_000;

class Progress {
  readonly #total: number;
  readonly #line = new ChangingLine();
  readonly #startedAt = performance.now();
  readonly #timer = this.#line.isTerminal ? setInterval(() => this.#draw(), redrawMs) : undefined;
  /** How far each file is. */
  readonly #running = new Map<string, string>();
  #done = 0;
  #isHidden = false;

  constructor(total: number) {
    this.#total = total;
  }

  started(file: string): void {
    this.#running.set(file, '');
    this.#draw();
  }

  /** @param untilMs how far the recording is recognised @param text the latest words */
  recognised(file: string, untilMs: number, text: string): void {
    this.#running.set(file, `${spanText(untilMs)} recognised: ${text}`);
    this.#draw();
  }

  /** @param outcome such as `done` or the reason of the failure; the bar does not show it */
  ended(file: string, outcome: string): void {
    this.#running.delete(file);
    this.#done++;
    this.#draw();
    // A single file needs no progress.
    if (!this.#line.isTerminal && this.#total > 1)
      printStatus(`${this.#done}/${this.#total} ${file}: ${outcome}`);
  }

  /** Hides the bar while `print` runs. */
  async around(print: () => Promise<void>): Promise<void> {
    this.#isHidden = true;
    this.#line.clear();
    await print();
    this.#isHidden = false;
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#line.clear();
  }

  #draw(): void {
    if (this.#isHidden) return;
    const elapsedMs = performance.now() - this.#startedAt;
    const [[file = '', text = ''] = []] = this.#running;
    const parts = [this.#count(), spanText(elapsedMs) + this.#left(elapsedMs), basename(file), text];
    this.#line.show(parts.filter((part) => part !== '').join('  '));
  }

  /** A single file has no count. */
  #count(): string {
    if (this.#total === 1) return '';
    const cells = Math.round((this.#done / this.#total) * barCells);
    return `${'█'.repeat(cells)}${'░'.repeat(barCells - cells)} ${this.#done}/${this.#total}`;
  }

  #left(elapsedMs: number): string {
    if (this.#done === 0 || this.#done === this.#total) return '';
    return `, ${spanText((elapsedMs / this.#done) * (this.#total - this.#done))} left`;
  }
}

/** Fuzzes a target for some time and keeps the inputs at which it fails. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FuzzReport, FuzzTask } from './fuzz-worker.ts';

const corpusFolder = join(import.meta.dirname, 'corpus');
const inputBytesMax = 65_536;
const hangMs = 60_000;
const crashesMax = 5;

export interface Fuzzed {
  readonly inputs: number;
  /** Parts of the sources that have run. */
  readonly parts: number;
  /** Inputs that reached new parts. */
  readonly kept: number;
  readonly crashes: readonly { readonly file: string; readonly reason: string }[];
}

/** Inputs that failed once, by their file names. */
export function readCorpus(name: string): Map<string, Buffer> {
  const folder = join(corpusFolder, name);
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  return new Map(files.map((file) => [file, readFileSync(join(folder, file))]));
}

export function fuzz(name: string, { seed, forMs }: Pick<FuzzTask, 'seed' | 'forMs'>): Promise<Fuzzed> {
  const current = new SharedArrayBuffer(inputBytesMax + 4);
  const task: FuzzTask = { name, seed, forMs, corpus: [...readCorpus(name).values()], current };
  const worker = new Worker(new URL('./fuzz-worker.ts', import.meta.url), { workerData: task });
  const crashes: { file: string; reason: string }[] = [];
  const reasons = new Set<string>();
  const keep = (input: Uint8Array, reason: string) => {
    // One input for each place of failure.
    const place = reason.split('\n').slice(0, 3).join('\n');
    if (!reasons.has(place)) crashes.push({ file: keepInput(name, input), reason });
    reasons.add(place);
  };
  const running = () => Buffer.from(new Uint8Array(current, 4, new Int32Array(current, 0, 1)[0]));
  return new Promise((resolve) => {
    let inputs = 0;
    const end = async (parts = 0, kept = 0) => {
      clearTimeout(watch);
      await worker.terminate();
      resolve({ inputs, parts, kept, crashes });
    };
    const hang = () => {
      keep(running(), `no end within ${hangMs} ms`);
      void end();
    };
    let watch = setTimeout(hang, hangMs);
    worker.on('message', (report: FuzzReport) => {
      clearTimeout(watch);
      watch = setTimeout(hang, hangMs);
      if (report.kind === 'crash') keep(report.input, report.reason);
      else inputs = report.inputs;
      if (report.kind === 'done') void end(report.parts, report.kept);
      else if (crashes.length >= crashesMax) void end();
    });
    worker.on('error', (error) => {
      keep(running(), `the thread ended: ${error.stack}`);
      void end();
    });
  });
}

/** @returns the path of the file */
function keepInput(name: string, input: Uint8Array): string {
  const folder = join(corpusFolder, name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, createHash('sha256').update(input).digest('hex').slice(0, 12));
  writeFileSync(file, input);
  return file;
}

/** Fuzzes one target in its own thread, so that an endless input can be detected and stopped. */
import { parentPort, workerData } from 'node:worker_threads';
import { Random } from '../support/random.ts';
import { Coverage } from './coverage.ts';
import { mutate } from './mutate.ts';
import type { OpenTarget } from './target.ts';
import { targets } from './targets/index.ts';

export interface FuzzTask {
  readonly name: string;
  readonly seed: number;
  readonly forMs: number;
  /** Known inputs, in addition to the seeds of the target. */
  readonly corpus: readonly Uint8Array[];
  /** The length of the current input, then its bytes. */
  readonly current: SharedArrayBuffer;
}

export type FuzzReport =
  | { readonly kind: 'progress'; readonly inputs: number }
  | { readonly kind: 'crash'; readonly input: Uint8Array; readonly reason: string }
  | { readonly kind: 'done'; readonly inputs: number; readonly parts: number; readonly kept: number };

const batch = 128;
/** Processor time for an input of at most 16 KiB. */
const inputMsMax = 1_000;

const task = workerData as FuzzTask;
const length = new Int32Array(task.current, 0, 1);
const bytes = new Uint8Array(task.current, 4);
const tell = (report: FuzzReport) => parentPort?.postMessage(report);

async function run(target: OpenTarget, input: Uint8Array): Promise<void> {
  bytes.set(input);
  Atomics.store(length, 0, input.length);
  const before = process.threadCpuUsage();
  try {
    await target.read(Buffer.from(input));
    const { user, system } = process.threadCpuUsage(before);
    const spentMs = (user + system) / 1000;
    if (spentMs > inputMsMax) throw new Error(`an input took ${spentMs.toFixed(0)} ms`);
  } catch (error) {
    tell({ kind: 'crash', input, reason: error instanceof Error ? `${error.stack}` : String(error) });
  }
}

async function runAll(target: OpenTarget, inputs: readonly Buffer[]): Promise<void> {
  for (const input of inputs) await run(target, input);
}

/** One of the inputs that reach new parts, found by bisection. Undefined if they were reached by chance. */
async function findNews(
  target: OpenTarget,
  inputs: readonly Buffer[],
  coverage: Coverage,
): Promise<Buffer | undefined> {
  let suspects = inputs;
  while (suspects.length > 1) {
    const half = suspects.slice(0, suspects.length / 2);
    await runAll(target, half);
    suspects = coverage.news().length > 0 ? half : suspects.slice(half.length);
  }
  await runAll(target, suspects);
  const news = coverage.news();
  coverage.learn(news);
  return news.length > 0 ? suspects[0] : undefined;
}

async function fuzz(): Promise<void> {
  const definition = await targets[task.name]?.();
  if (definition === undefined) throw new Error(`there is no target ${task.name}`);
  const target = await definition.open();
  const random = new Random(task.seed);
  const words = (definition.words ?? []).map((word) => Buffer.from(word, 'latin1'));
  const corpus: Buffer[] = [...definition.seeds, ...task.corpus].map((seed) => Buffer.from(seed));
  const coverage = new Coverage();
  await runAll(target, corpus);
  coverage.learn(coverage.news());
  const deadline = performance.now() + task.forMs;
  let inputs = corpus.length;
  // A target with slow inputs gets fewer at once.
  for (let size = 4; performance.now() < deadline; size = Math.min(batch, size * 2)) {
    const tried = Array.from({ length: size }, () => {
      // The newest inputs are the least explored.
      const parent = random.onceIn(2) ? random.pick(corpus) : random.pick(corpus.slice(-20));
      return mutate(parent, random.pick(corpus), words, random);
    });
    await runAll(target, tried);
    inputs += size;
    const news = coverage.news();
    const found = news.length > 0 ? await findNews(target, tried, coverage) : undefined;
    if (found === undefined) coverage.learn(news);
    else corpus.push(found);
    tell({ kind: 'progress', inputs });
  }
  const parts = coverage.size;
  coverage.close();
  await target.close?.();
  tell({ kind: 'done', inputs, parts, kept: corpus.length });
}

await fuzz();

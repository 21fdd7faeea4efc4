import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { siblingWorker } from '../../../threads/pool.ts';
import { sqlite } from '../../sql/dialect.ts';
import type { Addition, Job, JobResult, Step } from '../../sql/job.ts';
import { isStorageFailure, isViolation, WriteError } from '../database/storage-failures.ts';
import type { WriteHealth } from '../database/write-health.ts';
import type {
  Batch,
  BatchOutcome,
  WireAddition,
  WireGroup,
  WireResult,
  WireText,
  WriterSettings,
} from './messages.ts';

/** Writes batches one at a time, on the writing connection. */
export interface BatchExecutor {
  run(batch: Batch): Promise<BatchOutcome>;
  close(): Promise<void>;
}

type AnyStatement = Step['statement'];

interface Pending {
  readonly job: Job;
  readonly resolve: (result: JobResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the jobs of concurrent requests. While one batch is written, new jobs form the next. */
export class Writer {
  readonly #executor: BatchExecutor;
  readonly #health: WriteHealth;
  readonly #numbers = new Map<AnyStatement, number>();
  /** The numbers of statements whose text the executor has received. */
  readonly #known = new Set<number>();
  #waiting: Pending[] = [];
  #isWriting = false;

  constructor(executor: BatchExecutor, health: WriteHealth) {
    this.#executor = executor;
    this.#health = health;
  }

  /**
   * Durable when it resolves. Rejects with the error of the job, which has then changed nothing, or with `overloaded` if the database
   * cannot be written.
   */
  run(job: Job): Promise<JobResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      if (this.#isWriting) return;
      this.#isWriting = true;
      // Runs at the end of this turn, so that the jobs of all its requests share the batch.
      setImmediate(() => void this.#writeAll());
    });
  }

  /** Resolves when no job waits. */
  async close(): Promise<void> {
    // A failed job has rejected to its own caller.
    if (this.#isWriting) await this.run({ steps: [] }).catch(() => undefined);
    await this.#executor.close();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#health.began();
      this.#end(batch, await this.#write(batch));
    }
    this.#isWriting = false;
  }

  /**
   * A job is written as a whole or not at all. All jobs are first tried together, as they rarely fail and savepoints
   * take a fifth of the time.
   */
  async #write(batch: readonly Pending[]): Promise<BatchOutcome> {
    const outcome = await this.#post([batch]);
    if (!('failure' in outcome)) return outcome;
    const { failure } = outcome;
    if (isStorageFailure(new WriteError(failure))) return outcome;
    return batch.length === 1 ? { results: [{ error: failure }] } : this.#post(batch.map((one) => [one]));
  }

  async #post(groups: readonly (readonly Pending[])[]): Promise<BatchOutcome> {
    const wire = this.#toWire(groups);
    const outcome = await this.#executor.run(wire);
    if ('results' in outcome) for (const { statement } of wire.texts) this.#known.add(statement);
    return outcome;
  }

  #toWire(groups: readonly (readonly Pending[])[]): Batch {
    const texts = new Map<number, WireText>();
    const numberOf = (statement: AnyStatement): number => {
      const number = this.#numbers.get(statement) ?? this.#numbers.size;
      if (this.#known.has(number)) return number;
      this.#numbers.set(statement, number);
      const { sql, slots } = statement.compiledFor(sqlite);
      texts.set(number, { statement: number, sql, values: slots.length });
      return number;
    };
    const wireGroups = groups.map((group) => toGroup(group, numberOf));
    return { texts: [...texts.values()], groups: wireGroups };
  }

  #end(batch: readonly Pending[], outcome: BatchOutcome): void {
    if ('failure' in outcome) {
      const reason = this.#health.failed(new WriteError(outcome.failure));
      for (const { reject } of batch) reject(reason);
      return;
    }
    this.#health.succeeded();
    for (const [n, pending] of batch.entries()) this.#endOne(pending, outcome.results[n]);
  }

  #endOne({ resolve, reject }: Pending, result: WireResult): void {
    if (result === undefined || !('error' in result)) {
      resolve(result ?? []);
      return;
    }
    const error = new WriteError(result.error);
    if (isViolation(error)) this.#health.violated(error);
    reject(error);
  }
}

function toGroup(group: readonly Pending[], numberOf: (statement: AnyStatement) => number): WireGroup {
  const jobs: number[] = [];
  const statements: number[] = [];
  const effects: Step['ifUnchanged'][] = [];
  const values: unknown[] = [];
  for (const { job } of group) {
    jobs.push(job.steps.length);
    for (const { statement, parameters, ifUnchanged } of job.steps) {
      statements.push(numberOf(statement));
      effects.push(ifUnchanged);
      statement.bind(parameters as never, values);
    }
  }
  const additions = summedUp(group.map(({ job }) => job)).map(
    ({ statement, amounts, row }): WireAddition => [numberOf(statement), amounts, row],
  );
  return { jobs, statements, ifUnchanged: effects, values, additions };
}

interface Sum extends Addition {
  readonly amounts: bigint[];
}

/** One addition for each row, in the order of their first additions. */
function summedUp(jobs: readonly Job[]): readonly Addition[] {
  const all: Sum[] = [];
  const sums = new Map<Addition['statement'], Map<string, Sum>>();
  for (const { additions = [] } of jobs) {
    for (const { statement, amounts, row, name = row.join(' ') } of additions) {
      let ofStatement = sums.get(statement);
      if (ofStatement === undefined) {
        ofStatement = new Map();
        sums.set(statement, ofStatement);
      }
      const sum = ofStatement.get(name);
      if (sum === undefined) {
        const first = { statement, amounts: [...amounts], row };
        ofStatement.set(name, first);
        all.push(first);
      } else {
        for (const [at, amount] of amounts.entries()) sum.amounts[at] = (sum.amounts[at] ?? 0n) + amount;
      }
    }
  }
  return all;
}

/** Writes on a separate thread, so that the process never waits for the disk. */
export class WriterThread implements BatchExecutor {
  readonly #worker: Worker;
  readonly #batches: MessagePort;
  readonly #sent = new Int32Array(new SharedArrayBuffer(4));
  readonly #ended: Promise<void>;
  #resolve: ((outcome: BatchOutcome) => void) | undefined;

  /** @param onLost called if the thread dies: whether its batch was written is unknown */
  constructor(files: Pick<WriterSettings, 'path' | 'files'>, onLost: (error: unknown) => void) {
    const { port1, port2 } = new MessageChannel();
    this.#batches = port1;
    port1.on('message', (outcome: BatchOutcome) => {
      port1.unref();
      this.#resolve?.(outcome);
    });
    port1.unref();
    const settings: WriterSettings = { ...files, batches: port2, sent: this.#sent };
    this.#worker = new Worker(siblingWorker(import.meta.url, 'writer-thread'), {
      workerData: settings,
      transferList: [port2],
      name: 'writer',
    });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        if (code !== 0) onLost(new Error(`The writer thread of the database has ended with ${code}.`));
        resolve();
      });
    });
    this.#worker.on('error', onLost);
  }

  run(batch: Batch): Promise<BatchOutcome> {
    // Keeps the process alive until its last write.
    this.#batches.ref();
    const outcome = new Promise<BatchOutcome>((resolve) => {
      this.#resolve = resolve;
    });
    this.#send(batch);
    return outcome;
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#send('close');
    await this.#ended;
    this.#batches.close();
  }

  #send(message: Batch | 'close'): void {
    this.#batches.postMessage(message);
    Atomics.add(this.#sent, 0, 1);
    Atomics.notify(this.#sent, 0);
  }
}

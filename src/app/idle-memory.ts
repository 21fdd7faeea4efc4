/**
 * Returns memory to the system after a busy time. V8 only collects garbage while it allocates, so without this the
 * garbage of a thousand streams would stay until the next thousand.
 */
import { getHeapStatistics } from 'node:v8';
import Sqlite from 'better-sqlite3';
import type { RequestCounts } from '../telemetry/metrics.ts';
import { collectGarbage } from '../threads/collect-garbage.ts';

/**
 * A collection blocks the process for some 100 ms, and V8 drops optimized code with it, so that the next 20,000
 * requests need up to twice the CPU. It therefore waits until there was no request for this time.
 */
const quietMsDefault = 60_000;
/** Minimum growth of the heap since the last collection. */
const grownBytesMin = 32 * 1024 * 1024;
/** Under load freed memory is also returned, which takes a few milliseconds. */
const returnEveryMsDefault = 15_000;

interface IdleMemoryOptions {
  /** No request has to wait for a collection. */
  readonly requests: () => RequestCounts;
  readonly quietMs?: number | undefined;
  readonly returnEveryMs?: number;
  /** Time after which the garbage of the start is collected. Default: it is not. */
  readonly settleMs?: number | undefined;
}

export class IdleMemory {
  readonly #requests: () => RequestCounts;
  /** Requests that had begun at the last check. */
  #begun = 0;
  #collectedBytes = heapBytes();
  readonly #checking: NodeJS.Timeout;
  readonly #settling: NodeJS.Timeout | undefined;
  readonly #returning: NodeJS.Timeout;

  constructor({
    requests,
    quietMs = quietMsDefault,
    returnEveryMs = returnEveryMsDefault,
    settleMs,
  }: IdleMemoryOptions) {
    this.#requests = requests;
    this.#checking = setInterval(() => this.#check(), quietMs).unref();
    this.#returning = setInterval(returnFreedMemory, returnEveryMs).unref();
    if (settleMs !== undefined) this.#settling = setTimeout(() => this.#settle(), settleMs).unref();
  }

  close(): void {
    clearInterval(this.#checking);
    clearTimeout(this.#settling);
    clearInterval(this.#returning);
  }

  /** Collects if no request has run since the last check. */
  #check(): void {
    const { begun, running } = this.#requests();
    const isQuiet = running === 0 && begun === this.#begun;
    this.#begun = begun;
    if (isQuiet && heapBytes() - this.#collectedBytes > grownBytesMin) this.#collect();
  }

  /** Running requests delay it: the first quiet time collects then, however little the heap has grown. */
  #settle(): void {
    if (this.#requests().running === 0) this.#collect();
    else this.#collectedBytes = 0;
  }

  #collect(): void {
    collectGarbage();
    returnFreedMemory();
    this.#collectedBytes = heapBytes();
  }
}

function heapBytes(): number {
  return getHeapStatistics().total_heap_size;
}

/** `@types/better-sqlite3` lacks the second parameter. */
interface ExtensionLoader {
  loadExtension(file: string, entry: string): unknown;
}

/**
 * Returns freed memory to the system with glibc's `malloc_trim`. `free` returns memory only at the end of a heap: one small block
 * that lives there keeps all freed memory below it, 90 MB after a busy minute. Takes some 15 ms for 100 MB.
 *
 * Node cannot call a C library, but SQLite can: it calls a function of a library as the entry of an extension. The first argument is a
 * pointer, so `malloc_trim` leaves the end of the main heap alone; MALLOC_TRIM_THRESHOLD_ bounds that. Without glibc nothing happens.
 */
function returnFreedMemory(): void {
  const connection = new Sqlite(':memory:');
  const loader: ExtensionLoader = connection;
  try {
    loader.loadExtension('libc.so.6', 'malloc_trim');
  } catch (error) {
    // SQLite reports failure both for the result 1, which means that memory was returned, and for a missing library.
    if (!(error instanceof Sqlite.SqliteError)) throw error;
  } finally {
    connection.close();
  }
}

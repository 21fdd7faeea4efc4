/** The log's lines on standard error. One that cannot be written ends nothing. */
import { writeSync } from 'node:fs';

const standardError = 2;
/**
 * Lines that wait while standard error cannot be written, such as to a full disk. Further ones are lost. The first never is, as
 * a part of it may be written.
 */
const waitingBytesMax = 1_048_576;
/** The pause before the next try where a pipe is full. */
const busyMs = 100;
const busyCodes: ReadonlySet<unknown> = new Set(['EAGAIN', 'EBUSY']);
let linesLost = 0;

/** The lines of the log that were lost since the start. */
export function logLinesLost(): number {
  return linesLost;
}

/** Writes each line at once. Lines that cannot be written wait for the next one that can be. */
export class LogOutput {
  readonly #onLoss: (lines: number) => void;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #lost = 0;

  /** @param onLoss called when lines were lost and the log can be written again */
  constructor(onLoss: (lines: number) => void) {
    this.#onLoss = onLoss;
  }

  write(text: string): void {
    const line = Buffer.from(text);
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    if (this.#flush()) {
      const lost = this.#lost;
      this.#lost = 0;
      if (lost > 0) this.#onLoss(lost);
    } else if (this.#waitingBytes > waitingBytesMax && this.#waiting.length > 1) {
      this.#waiting.pop();
      this.#waitingBytes -= line.length;
      this.#lost++;
      linesLost++;
    }
  }

  /** @returns whether everything is written */
  #flush(): boolean {
    for (let [line] = this.#waiting; line; [line] = this.#waiting) {
      try {
        const written = writeSync(standardError, line);
        this.#waitingBytes -= written;
        if (written === line.length) this.#waiting.shift();
        else this.#waiting[0] = line.subarray(written);
      } catch (error) {
        if (!busyCodes.has((error as NodeJS.ErrnoException).code)) return false;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs);
      }
    }
    return true;
  }
}

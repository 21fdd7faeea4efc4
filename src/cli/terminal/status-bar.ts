/** Progress on standard error: one changing line on a terminal, else the last line of each part and one every few seconds. */
import { printable, printStatus } from './terminal.ts';
import { spanText } from './times.ts';

const redrawMs = 200;
const lineMs = 5_000;
const clearLine = '\r\u001b[K';

export class StatusBar {
  readonly #isTerminal = process.stderr.isTTY === true;
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  /** @param isLast whether a part is complete */
  show(line: string, isLast: boolean): void {
    const nowMs = performance.now();
    const isDue = nowMs - this.#shownAtMs >= (this.#isTerminal ? redrawMs : lineMs);
    if (!isDue && (this.#isTerminal || !isLast)) return;
    this.#shownAtMs = nowMs;
    if (this.#isTerminal) process.stderr.write(clearLine + printable(line));
    else printStatus(printable(line));
    this.#isDrawn = this.#isTerminal;
  }

  close(): void {
    if (this.#isDrawn) process.stderr.write(clearLine);
    this.#isDrawn = false;
  }
}

/** Progress of files that are being pulled, with rate and time left. */
export class PullProgress {
  readonly #bar = new StatusBar();
  /** Since this file's first bytes of this run. */
  #since = { name: '', bytes: 0, atMs: 0 };

  readonly show = (name: string, bytes: number, bytesTotal: number): void => {
    const nowMs = performance.now();
    if (name !== this.#since.name || bytes < this.#since.bytes) this.#since = { name, bytes, atMs: nowMs };
    const bytesPerMs = (bytes - this.#since.bytes) / (nowMs - this.#since.atMs);
    const rate =
      bytesPerMs > 0
        ? `, ${sizeText(bytesPerMs * 1_000)}/s, ${spanText((bytesTotal - bytes) / bytesPerMs)} left`
        : '';
    this.#bar.show(`${name}: ${sizeText(bytes)} of ${sizeText(bytesTotal)}${rate}`, bytes === bytesTotal);
  };

  close(): void {
    this.#bar.close();
  }
}

/** Text such as `345.2 MB`. */
export function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Progress on standard error: one changing line on a terminal, else the last line of each part and one every few seconds. */
import { printable, printStatus } from './terminal.ts';

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

/** Progress of a copy, on standard error: one changing line on a terminal, else a line per table and every few seconds. */
import type { CopyProgress } from '../../app/store-tools.ts';
import { printStatus } from './terminal.ts';

const redrawMs = 200;
const lineMs = 5_000;
const clearLine = '\r\u001b[K';
const verbs = { copy: 'copying', verify: 'verifying' };

export class CopyBar {
  readonly #isTerminal = process.stderr.isTTY === true;
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  show({ step, table, rows, rowsTotal }: CopyProgress): void {
    const nowMs = performance.now();
    const isDue = nowMs - this.#shownAtMs >= (this.#isTerminal ? redrawMs : lineMs);
    if (!isDue && (this.#isTerminal || rows < rowsTotal)) return;
    this.#shownAtMs = nowMs;
    const line = `${verbs[step]} ${table}: ${rows} of ${rowsTotal} rows`;
    if (this.#isTerminal) process.stderr.write(clearLine + line);
    else printStatus(line);
    this.#isDrawn = this.#isTerminal;
  }

  close(): void {
    if (this.#isDrawn) process.stderr.write(clearLine);
    this.#isDrawn = false;
  }
}

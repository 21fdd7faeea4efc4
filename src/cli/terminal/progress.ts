/** Progress through recordings, on standard error: one changing line on a terminal, else a line per finished file. */
import { basename } from 'node:path';
import { printable, printStatus } from './terminal.ts';
import { spanText } from './times.ts';

const barCells = 24;
const redrawMs = 1_000;
/** The width of a terminal that does not report it. */
const columnsDefault = 80;
const clearLine = '\r\u001b[K';

export class Progress {
  readonly #total: number;
  readonly #isTerminal = process.stderr.isTTY;
  readonly #startedAt = performance.now();
  readonly #timer = this.#isTerminal ? setInterval(() => this.#draw(), redrawMs) : undefined;
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
    const hasLine = !this.#isTerminal && this.#total > 1;
    if (hasLine) printStatus(`${this.#done}/${this.#total} ${file}: ${outcome}`);
  }

  /** Hides the bar while `print` runs. */
  async around(print: () => Promise<void>): Promise<void> {
    this.#isHidden = true;
    this.#clear();
    await print();
    this.#isHidden = false;
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #clear(): void {
    if (this.#isTerminal) process.stderr.write(clearLine);
  }

  #draw(): void {
    if (this.#isHidden || !this.#isTerminal) return;
    const elapsedMs = performance.now() - this.#startedAt;
    const [[file = '', text = ''] = []] = this.#running;
    const parts = [this.#count(), spanText(elapsedMs) + this.#left(elapsedMs), basename(file), text];
    const line = printable(parts.filter((part) => part !== '').join('  '));
    process.stderr.write(clearLine + line.slice(0, (process.stderr.columns || columnsDefault) - 1));
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

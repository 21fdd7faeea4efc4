/** Progress through recordings, on standard error: one changing line on a terminal, else a line per finished file. */
import { basename } from 'node:path';
import { ChangingLine } from './status-bar.ts';
import { printStatus } from './terminal.ts';
import { spanText } from './times.ts';

const barCells = 24;
const redrawMs = 1_000;

export class Progress {
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

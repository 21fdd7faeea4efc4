/** Progress on standard error: one changing line on a terminal, else the last line of each part and one every few seconds. */
import { printable, printStatus } from './terminal.ts';
import { spanText } from './times.ts';

const redrawMs = 200;
const lineMs = 5_000;
/** The width of a terminal that does not report it. */
const columnsDefault = 80;
const clearLine = '\r\u001b[K';

/** A line on standard error that changes; without a terminal there is none. */
export class ChangingLine {
  readonly isTerminal = process.stderr.isTTY === true;
  #isDrawn = false;

  /** @param shown the part of a line that is too long. Default: its beginning */
  show(line: string, shown: 'beginning' | 'end' = 'beginning'): void {
    if (!this.isTerminal) return;
    const width = (process.stderr.columns || columnsDefault) - 1;
    const text = printable(line);
    process.stderr.write(clearLine + (shown === 'end' ? text.slice(-width) : text.slice(0, width)));
    this.#isDrawn = true;
  }

  clear(): void {
    if (this.#isDrawn) process.stderr.write(clearLine);
    this.#isDrawn = false;
  }
}

const units = {
  bytes: { total: sizeText, done: sizeText },
  rows: { total: (rows: number) => `${rows} rows`, done: String },
};

/** Progress of steps such as files that are being pulled, with rate and time left. */
export class StepProgress {
  readonly #line = new ChangingLine();
  /** Elsewhere, steps that end soon have one line. */
  #shownAtMs = this.#line.isTerminal ? Number.NEGATIVE_INFINITY : performance.now();
  readonly #unit: keyof typeof units;
  /** Since the first amount of this step in this run. */
  #since = { name: '', done: 0, atMs: 0 };

  constructor(unit: keyof typeof units) {
    this.#unit = unit;
  }

  readonly show = (name: string, done: number, total: number): void => {
    const nowMs = performance.now();
    if (name !== this.#since.name || done < this.#since.done) this.#since = { name, done, atMs: nowMs };
    const unit = units[this.#unit];
    const perMs = (done - this.#since.done) / (nowMs - this.#since.atMs);
    const perSecond = unit.total(Math.round(perMs * 1_000));
    const rate = perMs > 0 ? `, ${perSecond}/s, ${spanText((total - done) / perMs)} left` : '';
    this.#draw(
      `${name}: ${unit.done(done)} of ${unit.total(total)}${done < total || this.#unit === 'bytes' ? rate : ''}`,
      done >= total,
    );
  };

  /** Shows a step whose amounts are unknown. */
  readonly step = (line: string): void => this.#draw(line, true);

  /** Shows one of many short steps: each at a terminal, elsewhere one every few seconds. */
  readonly shortStep = (line: string): void => this.#draw(line, this.#line.isTerminal);

  close(): void {
    this.#line.clear();
  }

  /** @param isLast whether a part is complete */
  #draw(line: string, isLast: boolean): void {
    const nowMs = performance.now();
    const isDue = nowMs - this.#shownAtMs >= (this.#line.isTerminal ? redrawMs : lineMs);
    if (!isDue && !isLast) return;
    this.#shownAtMs = nowMs;
    if (this.#line.isTerminal) this.#line.show(line);
    else printStatus(printable(line));
  }
}

/** Text such as `345.2 MB`. */
export function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

import { printable } from './terminal.ts';

const clearLine = '\r\u001b[K';
/** The width of a terminal that does not report it. */
const columnsDefault = 80;

/** A line on standard error that changes; without a terminal there is none. */
export class CurrentLine {
  readonly #isTerminal = process.stderr.isTTY;

  /** Shows the end of a text that is too long. */
  show(text: string): void {
    if (!this.#isTerminal) return;
    const width = (process.stderr.columns || columnsDefault) - 1;
    process.stderr.write(clearLine + printable(text).slice(-width));
  }

  clear(): void {
    if (this.#isTerminal) process.stderr.write(clearLine);
  }
}

import type { Readable } from 'node:stream';

/** Only the end of a line that never ends is kept. */
const unfinishedCharactersMax = 4_096;
const shownCharactersMax = 300;
/** Shorter values are too common to be secrets. */
const secretCharactersMin = 8;

/** Keeps the last line of a program's output that is not blank. */
export class LastLine {
  #rest = '';
  #line = '';

  /** Reads the stream to its end, so that the program is never blocked. */
  constructor(stream: Readable) {
    stream.setEncoding('utf8').on('data', (text: string) => this.#add(text));
  }

  /** As one short printable line. Values of `env` are replaced by their names, as they may be secrets. */
  text(env: Readonly<Record<string, string>>): string {
    let shown = this.#rest.trim() || this.#line;
    for (const [name, value] of Object.entries(env)) {
      if (value.length >= secretCharactersMin) shown = shown.replaceAll(value, `$${name}`);
    }
    return shown
      .replace(/\p{C}+/gu, ' ')
      .trim()
      .slice(0, shownCharactersMax);
  }

  #add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(-unfinishedCharactersMax);
    this.#line =
      lines.findLast((line) => line.trim() !== '')?.slice(0, unfinishedCharactersMax) ?? this.#line;
  }
}

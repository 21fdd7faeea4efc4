/** Bounds on a document before it is decoded. Its bytes alone say little: two of them make an object of a hundred. */
export interface ElementLimits {
  /** JSON: opening brackets and commas. Messages: messages, elements of lists and unknown fields; four single values count as one. */
  readonly elementsMax: number;
  /** Objects and arrays, or messages, within each other. */
  readonly levelsMax: number;
}

/** Bounds on the request of an RPC. */
export interface RequestLimits extends ElementLimits {
  /** Whether a field that the schema does not have is refused. */
  readonly isStrict: boolean;
}

/** The limit that a document exceeds. */
export type Excess = keyof ElementLimits;

const ascii = {
  quote: 0x22,
  comma: 0x2c,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;

/** Counts the elements and levels of a JSON text in UTF-8, piece by piece, at about a nanosecond a byte. */
export class JsonScan {
  readonly #limits: ElementLimits;
  #elements = 0;
  #levels = 0;
  #isInString = false;
  /** Whether the last piece ended with the backslash of an escape. */
  #isInEscape = false;

  constructor(limits: ElementLimits) {
    this.#limits = limits;
  }

  /** Reads the next piece. Returns the limit that the text exceeds by its end; undefined if none. */
  read(piece: Uint8Array): Excess | undefined {
    for (let at = this.#isInString ? this.#endOfString(piece, 0) : 0; at < piece.length; at++) {
      switch (piece[at]) {
        case ascii.quote:
          at = this.#endOfString(piece, at + 1) - 1;
          break;
        case ascii.openBrace:
        case ascii.openBracket:
          if (++this.#levels > this.#limits.levelsMax) return 'levelsMax';
          if (++this.#elements > this.#limits.elementsMax) return 'elementsMax';
          break;
        case ascii.comma:
          if (++this.#elements > this.#limits.elementsMax) return 'elementsMax';
          break;
        case ascii.closeBrace:
        case ascii.closeBracket:
          this.#levels--;
      }
    }
    return undefined;
  }

  /** Where a string that goes on at `start` has ended, or the end of the piece. */
  #endOfString(piece: Uint8Array, start: number): number {
    let at = this.#isInEscape ? start + 1 : start;
    while (at < piece.length && piece[at] !== ascii.quote) at += piece[at] === ascii.backslash ? 2 : 1;
    this.#isInString = at >= piece.length;
    this.#isInEscape = at > piece.length;
    return at + 1;
  }
}

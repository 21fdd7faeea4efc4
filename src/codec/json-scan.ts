/**
 * Limits on a document, checked before it is decoded. Its bytes alone say little: two bytes can become an object of a
 * hundred.
 */
export interface ElementLimits {
  /**
   * JSON: opening brackets and commas. Messages: messages, elements of lists and unknown fields; four single values
   * count as one.
   */
  readonly elementsMax: number;
  /** Objects and arrays, or messages, within each other. */
  readonly levelsMax: number;
  /** Members of one object or map, as each costs more the more there are. Default: no limit. */
  readonly membersMax?: number;
}

export interface RequestLimits extends ElementLimits {
  /** Whether to refuse a field that the schema does not have. */
  readonly isStrict: boolean;
}

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
  /** Commas in each object that is open. Arrays, and the text around all, count from negative infinity. */
  readonly #commas = [Number.NEGATIVE_INFINITY];
  #isInString = false;
  /** Whether the last piece ended with the backslash of an escape. */
  #isInEscape = false;

  constructor(limits: ElementLimits) {
    this.#limits = limits;
  }

  /** Reads the next piece. Returns the limit that the text exceeds so far, if any. */
  read(piece: Uint8Array): Excess | undefined {
    const { elementsMax, levelsMax, membersMax = Number.POSITIVE_INFINITY } = this.#limits;
    for (let at = this.#isInString ? this.#endOfString(piece, 0) : 0; at < piece.length; at++) {
      switch (piece[at]) {
        case ascii.quote:
          at = this.#endOfString(piece, at + 1) - 1;
          break;
        case ascii.openBrace:
        case ascii.openBracket:
          if (this.#commas.push(piece[at] === ascii.openBrace ? 0 : Number.NEGATIVE_INFINITY) - 1 > levelsMax)
            return 'levelsMax';
          if (++this.#elements > elementsMax) return 'elementsMax';
          break;
        case ascii.comma:
          if (++this.#elements > elementsMax) return 'elementsMax';
          if (this.#endOfMember() >= membersMax) return 'membersMax';
          break;
        case ascii.closeBrace:
        case ascii.closeBracket:
          if (this.#commas.length > 1) this.#commas.pop();
      }
    }
    return undefined;
  }

  /** Counts a comma. Returns the commas of the innermost object so far. */
  #endOfMember(): number {
    const innermost = this.#commas.length - 1;
    const commas = (this.#commas[innermost] ?? 0) + 1;
    this.#commas[innermost] = commas;
    return commas;
  }

  /** Where a string that continues at `start` ends, or the end of the piece. */
  #endOfString(piece: Uint8Array, start: number): number {
    let at = this.#isInEscape ? start + 1 : start;
    while (at < piece.length && piece[at] !== ascii.quote) at += piece[at] === ascii.backslash ? 2 : 1;
    this.#isInString = at >= piece.length;
    this.#isInEscape = at > piece.length;
    return at + 1;
  }
}

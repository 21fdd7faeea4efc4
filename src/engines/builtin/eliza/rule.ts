/** Answers that are used in turn. `{it}` stands for the pattern's group of that name with the person swapped, `{name}` for its group as it is. */
export type Answers = readonly [string, ...string[]];

/** The answers to clauses that match a pattern. */
export interface Rule {
  /** The matching rule with the highest rank answers; among equals, the first one listed. */
  readonly rank: number;
  /**
   * Matched against one clause, without punctuation and with single spaces. No pattern has an unbounded repetition inside
   * another, so that the time stays linear.
   */
  readonly pattern: RegExp;
  readonly answers: Answers;
}

export function rule(rank: number, pattern: RegExp, ...answers: Answers): Rule {
  return { rank, pattern, answers };
}

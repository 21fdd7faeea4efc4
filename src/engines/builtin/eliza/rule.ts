/** Answers that take turns. `{it}` stands for what the rule caught, seen from the other side: `my dog` as `your dog`. */
export type Answers = readonly [string, ...string[]];

/** What to say to a clause that the pattern finds something in. */
export interface Rule {
  /** Where several rules find something the highest rank answers; of equal ones the one listed first. */
  readonly rank: number;
  /**
   * Matched against one clause, without its punctuation and with single spaces. The group `it` is turned around before
   * it goes into an answer, the group `name` goes in as it is. No pattern has an unbounded repetition inside another, so
   * that time stays linear.
   */
  readonly pattern: RegExp;
  readonly answers: Answers;
}

export function rule(rank: number, pattern: RegExp, ...answers: Answers): Rule {
  return { rank, pattern, answers };
}

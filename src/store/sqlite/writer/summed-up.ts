import type { Addition, Job } from '../../sql/job.ts';

interface Sum extends Addition {
  readonly amounts: bigint[];
}

/** One addition for each row, in the order of their first additions. */
export function summedUp(jobs: readonly Job[]): readonly Addition[] {
  const all: Sum[] = [];
  const sums = new Map<Addition['statement'], Map<string, Sum>>();
  for (const { additions = [] } of jobs) {
    for (const { statement, amounts, row, name = row.join(' ') } of additions) {
      let ofStatement = sums.get(statement);
      if (ofStatement === undefined) {
        ofStatement = new Map();
        sums.set(statement, ofStatement);
      }
      const sum = ofStatement.get(name);
      if (sum === undefined) {
        const first = { statement, amounts: [...amounts], row };
        ofStatement.set(name, first);
        all.push(first);
      } else {
        for (const [at, amount] of amounts.entries()) sum.amounts[at] = (sum.amounts[at] ?? 0n) + amount;
      }
    }
  }
  return all;
}

import type { Addition, Job } from '../../sql/job.ts';

/** One addition for each row, in the order of their first additions. */
export function summedUp(jobs: readonly Job[]): readonly Addition[] {
  const all: Addition[] = [];
  const indexes = new Map<Addition['statement'], Map<string, number>>();
  for (const { additions = [] } of jobs) {
    for (const addition of additions) {
      const { statement, amounts, row } = addition;
      let rows = indexes.get(statement);
      if (rows === undefined) {
        rows = new Map();
        indexes.set(statement, rows);
      }
      const name = row.join(' ');
      const index = rows.get(name);
      const sum = index === undefined ? undefined : all[index];
      if (index === undefined || sum === undefined) {
        rows.set(name, all.length);
        all.push(addition);
      } else {
        all[index] = { ...sum, amounts: sum.amounts.map((amount, n) => amount + (amounts[n] ?? 0n)) };
      }
    }
  }
  return all;
}

import type { UsageStore } from '../../core/entities/usage.ts';
import type { Executor } from '../sql/executor.ts';
import { countPrunable, prune } from './prune.ts';
import { usageLists } from './usage-lists.ts';
import { readTotals } from './usage-totals.ts';

export function usageStore(executor: Executor): UsageStore {
  return {
    ...usageLists(executor),
    totals: (wanted) => readTotals(executor, wanted),
    countPrunable: (cut) => countPrunable(executor, cut),
    prune: (cut, recordsMax, audit) => prune(executor, cut, recordsMax, audit),
  };
}

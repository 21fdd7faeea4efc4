import type { Command } from 'commander';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { formatCredits, nanoCredits } from '../../core/values/money.ts';
import { type Column, table } from '../terminal/table.ts';
import { printStatus } from '../terminal/terminal.ts';
import { spanText, timeText } from '../terminal/times.ts';
import { accountNames, allOrOwnCommand, type LimitFlag, limitOption, listAndShow } from './admin-command.ts';
import { exportCommand } from './usage-export.ts';
import { type UsageFilterFlags, usageFilter, withFilters } from './usage-filter.ts';
import { focusCommand } from './usage-focus.ts';
import { amountText, showCommand } from './usage-show.ts';
import { totalsCommand } from './usage-totals.ts';

type UsageFlags = UsageFilterFlags & LimitFlag;

export function usageCommand(): Command {
  const command = allOrOwnCommand('usage', 'Show usage records, the newest first.', [
    'parley usage',
    'parley usage --account acme --limit 100',
    'parley usage --own   # of the account of your API key',
    'parley usage --since 24h --state failed --json',
    'parley usage --code upstream_error --engine azure',
    'parley usage show req_0197a3…   # why it failed: the x-request-id of its answer',
    'parley usage totals --by account,month',
    'parley usage export --csv --since 2027-01-01 > usage.csv',
  ]);
  return withFilters(command)
    .addOption(limitOption('records'))
    .action(showUsage)
    .addCommand(showCommand())
    .addCommand(exportCommand())
    .addCommand(focusCommand())
    .addCommand(totalsCommand());
}

async function showUsage(flags: UsageFlags): Promise<void> {
  const count = await listAndShow(
    flags,
    'listUsageRecords',
    usageFilter(flags),
    async ({ records }, admin) => {
      const ids = records.map(({ accountId }) => accountId);
      return usageTable(records, flags.account === undefined ? await accountNames(admin, ids) : undefined);
    },
  );
  if (count === 0 && !flags.json) printStatus('No usage records found.');
}

/** @param names account names by id, if the records belong to several accounts */
function usageTable(records: readonly UsageRecord[], names: ReadonlyMap<string, string> | undefined): string {
  const account: Column<UsageRecord> = { title: 'ACCOUNT', cell: ({ accountId }) => names?.get(accountId) };
  return table(records, [
    { title: 'TIME (UTC)', cell: ({ startedAt }) => timeText(startedAt) },
    ...(names === undefined ? [] : [account]),
    { title: 'OPERATION', cell: ({ operation }) => operation },
    { title: 'MODEL', cell: ({ model }) => model },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'CODE', cell: ({ code }) => code },
    {
      title: 'TOOK',
      cell: ({ durationMs }) => (durationMs === undefined ? undefined : spanText(durationMs)),
      align: 'right',
    },
    { title: 'AMOUNT', cell: amountText, align: 'right' },
    { title: 'UNITS', cell: ({ fairUseUnits }) => fairUseUnits?.toString(), align: 'right' },
    { title: 'CREDITS', cell: costText, align: 'right' },
    { title: 'ID', cell: ({ id }) => id },
  ]);
}

function costText({ costNanoCredits }: UsageRecord): string | undefined {
  return costNanoCredits === undefined ? undefined : formatCredits(nanoCredits(costNanoCredits));
}

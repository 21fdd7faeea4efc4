import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type Command, InvalidArgumentError } from 'commander';
import type { UsageTotal as OwnTotal } from '../../../gen/parley/account/v1/account_pb.ts';
import type { UsageTotal as AnyTotal } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { totalDimensions } from '../../core/entities/usage.ts';
import { present } from '../../core/values/present.ts';
import { withAdmin } from '../client/admin-connection.ts';
import { type Column, table } from '../terminal/table.ts';
import { dayMs, parseMoment } from '../terminal/times.ts';
import { type AdminCommandFlags, accountNames, allOrOwn, allOrOwnCommand, show } from './admin-command.ts';

interface TotalsFlags extends AdminCommandFlags {
  readonly by: readonly string[];
  readonly account?: string;
  readonly since?: Date;
  readonly until?: Date;
}

export function totalsCommand(): Command {
  return allOrOwnCommand('totals', 'Show totals of usage, including pruned records.', [
    'parley usage totals',
    'parley usage totals --by account,month --since 2027-01-01',
    'parley usage totals --by model --account acme --json',
  ])
    .option('--by <what>', `group by some of ${totalDimensions.join(', ')}`, parseDimensions, ['month'])
    .option('--account <account>', "an account's id or name (default: all accounts)")
    .option('--since <when>', 'only from this day on: a date, or a span before now such as 30d', parseMoment)
    .option('--until <when>', 'only before this day', parseMoment)
    .action((_, self: Command) => showTotals(self.optsWithGlobals()));
}

function showTotals(flags: TotalsFlags): Promise<void> {
  const { by, account, since, until } = flags;
  const [startTime, endTime] = [since && firstOfDay(since), until && firstOfDay(until)];
  const request = { groupBy: [...by], ...present({ accountId: account, startTime, endTime }) };
  return withAdmin(allOrOwn(flags), async (admin) => {
    const response = await admin.invoke('getUsageTotals', request);
    const ids = flags.json ? [] : response.totals.flatMap(({ accountId }) => accountId ?? []);
    const names = await accountNames(admin, ids);
    await show(flags, 'getUsageTotals', response, ({ totals }) => totalsTable(totals, by, names));
  });
}

/** Only operators see accounts. */
type UsageTotal = Omit<OwnTotal, '$typeName'> & Pick<AnyTotal, 'accountId'>;

export function totalsTable(
  totals: readonly UsageTotal[],
  by: readonly string[],
  names: ReadonlyMap<string, string>,
): string {
  const dimensions: Record<string, Column<UsageTotal>> = {
    account: { title: 'ACCOUNT', cell: ({ accountId = '' }) => names.get(accountId) },
    key: { title: 'KEY', cell: ({ keyId }) => keyId },
    month: { title: 'MONTH', cell: ({ month }) => month },
    day: { title: 'DAY', cell: ({ day }) => day },
    operation: { title: 'OPERATION', cell: ({ operation }) => operation },
    model: { title: 'MODEL', cell: ({ model }) => model },
    state: { title: 'STATE', cell: ({ state }) => state },
  };
  const sum = (title: string, cell: Column<UsageTotal>['cell']) => ({ title, cell, align: 'right' as const });
  return table(totals, [
    ...by.flatMap((name) => dimensions[name] ?? []),
    sum('REQUESTS', ({ requests }) => String(requests)),
    sum('CHARACTERS', ({ characters }) => String(characters)),
    sum('AUDIO IN', ({ audioSecondsIn }) => `${audioSecondsIn.toFixed(1)} s`),
    sum('AUDIO OUT', ({ audioSecondsOut }) => `${audioSecondsOut.toFixed(1)} s`),
    sum('TOKENS', ({ promptTokens, completionTokens }) => `${promptTokens} + ${completionTokens}`),
    sum('UNITS', ({ fairUseUnits }) => String(fairUseUnits)),
    sum('CREDITS', ({ cost }) => cost),
  ]);
}

/** Totals have a resolution of one day (UTC). */
export function firstOfDay(moment: Date) {
  return timestampFromMs(Math.floor(moment.getTime() / dayMs) * dayMs);
}

function parseDimensions(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => totalDimensions.some((known) => known === name))) return names;
  throw new InvalidArgumentError(`Write one or more of ${totalDimensions.join(',')}.`);
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { UsageTotal } from '../../../gen/parley/account/v1/account_pb.ts';
import { ownDimensions, topMeasures, totalDimensions } from '../../core/entities/usage.ts';
import { present } from '../../core/values/json.ts';
import { wholeNumber } from '../flags.ts';
import { type Column, table } from '../terminal/table.ts';
import { dayMs, type PeriodFlags, parseMoment, timestampOf } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  accountNames,
  allOrOwnCommand,
  callAndShow,
  ownCommand,
} from './admin-command.ts';

interface TotalsFlags extends AdminCommandFlags, PeriodFlags {
  readonly by: readonly string[];
  readonly account?: string;
  readonly top?: number;
  readonly topBy?: string;
}

export function totalsCommand(): Command {
  const command = allOrOwnCommand('totals', 'Show totals of usage, with those of pruned records.');
  return withTotals(command, totalDimensions, 'month').option(
    '--account <account>',
    "an account's id or name (default: all accounts)",
  );
}

export function keyTotalsCommand(): Command {
  return withTotals(ownCommand('usage', 'Show totals of the usage.'), ownDimensions, 'key');
}

function withTotals(command: Command, dimensions: readonly string[], byDefault: string): Command {
  return command
    .option('--by <what>', `group by some of ${dimensions.join(', ')}`, parseDimensions(dimensions), [
      byDefault,
    ])
    .option('--since <when>', 'only from that day on: a date, or a span before now such as 30d', parseMoment)
    .option('--until <when>', 'only before that day', parseMoment)
    .option(
      '--top <number>',
      'only the largest accounts, keys or end users, and the sum of the rest',
      wholeNumber(1, 100),
    )
    .addOption(new Option('--top-by <measure>', 'what is compared (default: requests)').choices(topMeasures))
    .action((_, self: Command) => showTotals(self.optsWithGlobals()));
}

async function showTotals(flags: TotalsFlags): Promise<void> {
  const { by, account, since, until, top, topBy } = flags;
  const [startTime, endTime] = [firstOfDay(since), firstOfDay(until)];
  const filter = present({ accountId: account, startTime, endTime, top, topBy });
  const request = { groupBy: [...by], ...filter };
  await callAndShow(flags, 'getUsageTotals', request, async ({ totals }, admin) => {
    const names = await accountNames(
      admin,
      totals.flatMap(({ accountId }) => accountId ?? []),
    );
    return totalsTable(totals, by, names);
  });
}

function totalsTable(
  totals: readonly UsageTotal[],
  by: readonly string[],
  names: ReadonlyMap<string, string>,
): string {
  const dimensions: Record<string, Column<UsageTotal>> = {
    account: {
      title: 'ACCOUNT',
      cell: ({ accountId = '', rest }) => (rest ? '(rest)' : names.get(accountId)),
    },
    key: { title: 'KEY', cell: ({ keyId, rest }) => (rest ? '(rest)' : keyId) },
    month: { title: 'MONTH', cell: ({ month }) => month },
    day: { title: 'DAY', cell: ({ day }) => day },
    hour: { title: 'HOUR (UTC)', cell: ({ hour }) => hour?.slice(0, 16).replace('T', ' ') },
    operation: { title: 'OPERATION', cell: ({ operation }) => operation },
    model: { title: 'MODEL', cell: ({ model }) => model },
    state: { title: 'STATE', cell: ({ state }) => state },
    code: { title: 'CODE', cell: ({ code }) => code },
    engine: { title: 'ENGINE', cell: ({ engine }) => engine },
    http_status: { title: 'HTTP STATUS', cell: ({ httpStatus }) => httpStatus?.toString() },
    end_user: { title: 'END USER', cell: ({ endUser, rest }) => (rest ? '(rest)' : endUser) },
    tags: { title: 'TAGS', cell: ({ tags }) => tags.join(', ') },
  };
  const sum = (title: string, cell: Column<UsageTotal>['cell']) => ({ title, cell, align: 'right' as const });
  return table(totals, [
    ...by.flatMap((name) => dimensions[name] ?? []),
    sum('REQUESTS', ({ requests }) => String(requests)),
    sum('CHARACTERS', ({ characters }) => String(characters)),
    sum('AUDIO IN', ({ audioSecondsIn }) => `${audioSecondsIn.toFixed(1)} s`),
    sum('AUDIO OUT', ({ audioSecondsOut }) => `${audioSecondsOut.toFixed(1)} s`),
    sum('TOKENS', ({ promptTokens, completionTokens }) => `${promptTokens} + ${completionTokens}`),
    sum('CACHED', ({ cachedTokens }) => String(cachedTokens)),
    sum('UNITS', ({ fairUseUnits }) => String(fairUseUnits)),
    sum('CREDITS', ({ cost }) => cost),
  ]);
}

/** Totals have a resolution of one day (UTC). */
function firstOfDay(moment: Date | undefined) {
  return moment && timestampOf(Math.floor(moment.getTime() / dayMs) * dayMs);
}

function parseDimensions(dimensions: readonly string[]) {
  return (text: string): string[] => {
    const names = text.split(',').map((name) => name.trim());
    if (names.every((name) => dimensions.includes(name))) return names;
    throw new InvalidArgumentError(`Write one or more of ${dimensions.join(',')}.`);
  };
}

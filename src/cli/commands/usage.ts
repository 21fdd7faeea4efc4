import type { Command } from 'commander';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { attemptText, limitText } from '../../core/billing/record-words.ts';
import { formatCredits, nanoCredits } from '../../core/values/money.ts';
import { CliError } from '../terminal/command.ts';
import { type Column, facts, table } from '../terminal/table.ts';
import { printStatus } from '../terminal/terminal.ts';
import { spanText, timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  accountNames,
  allOrOwnCommand,
  type LimitFlag,
  limitOption,
  listAndShow,
  show,
  withAdmin,
} from './admin-command.ts';
import { exportCommand } from './usage-export.ts';
import { type UsageFilterFlags, usageFilter, withFilters } from './usage-filter.ts';
import { focusCommand } from './usage-focus.ts';
import { totalsCommand } from './usage-totals.ts';

type UsageFlags = UsageFilterFlags & LimitFlag;

export function usageCommand(): Command {
  const command = allOrOwnCommand('usage', 'Show usage records, the newest first.');
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
    { title: 'TOOK', cell: ({ durationMs }) => span(durationMs), align: 'right' },
    { title: 'AMOUNT', cell: amountText, align: 'right' },
    { title: 'UNITS', cell: ({ fairUseUnits }) => fairUseUnits?.toString(), align: 'right' },
    { title: 'CREDITS', cell: ({ costNanoCredits }) => creditsText(costNanoCredits), align: 'right' },
    { title: 'ID', cell: ({ id }) => id },
  ]);
}

function showCommand(): Command {
  return allOrOwnCommand('show', 'Show one request: why it failed, its engines, its cost.')
    .argument('<id>', 'the x-request-id of its answer')
    .action((id: string, _, self: Command) => showRequest(id, self.optsWithGlobals()));
}

function showRequest(id: string, flags: AdminCommandFlags): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const response = await admin.invoke('listUsageRecords', { id });
    const [record] = response.records;
    if (record === undefined) throw new CliError(unknownRequest);
    response.nextPageToken = undefined;
    await show(flags, 'listUsageRecords', response, async () => {
      const names = await accountNames(admin, [record.accountId]);
      return facts(factsOf(record, names.get(record.accountId)));
    });
  });
}

const unknownRequest =
  'No record has this id. Only requests with a valid key have records, and old ones may have been removed.';

type Fact = readonly [name: string, value: string | undefined];

function factsOf(record: UsageRecord, account: string | undefined): Fact[] {
  const { attempts, limit, code, httpStatus, firstOutputMs, durationMs } = record;
  const all: Fact[] = [
    ['id', record.id],
    ['time (UTC)', timeText(record.startedAt)],
    ['account', account],
    ['key', record.keyId],
    ['operation', record.operation],
    ['model', record.model],
    ['wire', record.wire],
    ['end user', record.endUser],
    ['tags', record.tags.length > 0 ? record.tags.join(', ') : undefined],
    ['state', record.state],
    ['code', code],
    ['HTTP status', httpStatus?.toString()],
    ['limit', limit && limitText(limit, exactCredits)],
    ['engine', record.engine],
    ...attempts.map((attempt, at): Fact => [`attempt ${at + 1}`, attemptText(attempt, spanText)]),
    ['first output', span(firstOutputMs)],
    ['took', span(durationMs)],
    ['amount', amountText(record)],
    ['units', record.fairUseUnits?.toString()],
    ['units given back', record.returnedUnits?.toString()],
    ['credits held', creditsText(record.reservedNanoCredits)],
    ['credits paid', creditsText(record.costNanoCredits)],
    ['not covered', creditsText(record.overrunNanoCredits)],
  ];
  return all.filter(([, value]) => value !== undefined);
}

const span = (ms: number | undefined) => (ms === undefined ? undefined : spanText(ms));

const exactCredits = (nano: bigint) => formatCredits(nanoCredits(nano));

function creditsText(nano: bigint | undefined): string | undefined {
  return nano === undefined ? undefined : exactCredits(nano);
}

/** The size of the request, in the unit of its operation. */
function amountText(record: UsageRecord) {
  const { characters, audioSecondsIn, promptTokens, cachedTokens, completionTokens } = record;
  if (characters !== undefined) return `${characters} characters`;
  if (audioSecondsIn !== undefined) return `${audioSecondsIn.toFixed(1)} seconds`;
  if (promptTokens === undefined) return undefined;
  const cached = cachedTokens ? ` (${cachedTokens} cached)` : '';
  return `${promptTokens}${cached} + ${completionTokens ?? 0} tokens`;
}

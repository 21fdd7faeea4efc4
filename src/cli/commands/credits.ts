import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { LedgerEntry, Statement, StatementLine } from '../../../gen/parley/account/v1/account_pb.ts';
import { newCommand } from '../terminal/command.ts';
import { facts, table } from '../terminal/table.ts';
import { timeText } from '../terminal/times.ts';
import { accountArgument, accountFacts } from './account.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  calling,
  type LimitFlag,
  limitOption,
  listAndShow,
  ofAccount,
  ownOrCommand,
} from './admin-command.ts';

interface EntryFlags extends AdminCommandFlags {
  readonly reason: string;
  readonly idempotencyKey?: string;
}

export function creditsCommand(): Command {
  const load = adminCommand('load', 'Add prepaid credits to an account. They pay for chat.');
  const adjust = adminCommand('adjust', 'Correct a balance: add or take credits.');
  return newCommand('credits', 'Load and show credits.')
    .addCommand(
      withEntryOptions(load, 'credits above zero, such as 25 or 0.5').action(enterBy('loadCredits')),
    )
    .addCommand(withEntryOptions(adjust, 'credits, negative to remove them').action(enterBy('adjustCredits')))
    .addCommand(
      ownOrCommand('show', 'Show the balance of an account.').action(
        calling('getAccount', ofAccount, ({ account }) => `${account?.balance ?? ''}\n`),
      ),
    )
    .addCommand(
      ownOrCommand('ledger', 'Show the entries of the ledger, the newest first.')
        .addOption(limitOption('entries'))
        .action(showLedger),
    );
}

function withEntryOptions(command: Command, amount: string): Command {
  return command
    .argument(...accountArgument)
    .argument('<amount>', amount)
    .requiredOption('--reason <text>', 'the reason, for the ledger')
    .option('--idempotency-key <key>', 'runs with the same key count once (default: a new key for each run)');
}

function enterBy(method: 'loadCredits' | 'adjustCredits') {
  const requestOf = (accountId: string, amount: string, flags: EntryFlags) => {
    const { reason, idempotencyKey = randomUUID() } = flags;
    return { accountId, amount, reason, idempotencyKey };
  };
  return calling(method, requestOf, accountFacts);
}

async function showLedger(account: string | undefined, flags: AdminCommandFlags & LimitFlag): Promise<void> {
  await listAndShow(flags, 'listLedgerEntries', ofAccount(account), ledgerTable);
}

function ledgerTable({ entries }: { readonly entries: readonly LedgerEntry[] }): string {
  return table(entries, [
    { title: 'TIME (UTC)', cell: ({ createdAt }) => timeText(createdAt) },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'CREDITS', cell: ({ amount }) => amount, align: 'right' },
    { title: 'REASON', cell: ({ reason }) => reason },
    { title: 'REFERENCE', cell: ({ reference }) => reference },
  ]);
}

export function statementCommand(): Command {
  return ownOrCommand('statement', "Show an account's credits in a month: its balances and their changes.")
    .option('--month <month>', 'a month (UTC), such as 2026-11 (default: this month)')
    .action(calling('getStatement', monthOf, ({ statement }) => (statement ? statementText(statement) : '')));
}

function monthOf(account: string | undefined, flags: AdminCommandFlags & { readonly month?: string }) {
  return { ...ofAccount(account), month: flags.month ?? new Date().toISOString().slice(0, 7) };
}

function statementText(statement: Statement): string {
  const { accountName, accountId, month, opening, closing, isFinal, lines } = statement;
  const owner = facts([
    ['account', accountName],
    ['id', accountId],
    ['month', isFinal ? month : `${month}, which has not ended`],
  ]);
  const balances = facts([
    ['opening balance', opening],
    ['closing balance', closing],
  ]);
  return [owner, ...(lines.length === 0 ? [] : [linesTable(lines)]), balances].join('\n');
}

function linesTable(lines: readonly StatementLine[]): string {
  return table(lines, [
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'MODEL', cell: ({ model }) => model },
    { title: 'KEY', cell: ({ keyId }) => keyId },
    { title: 'ENTRIES', cell: ({ entries }) => String(entries), align: 'right' },
    { title: 'CREDITS', cell: ({ amount }) => amount, align: 'right' },
  ]);
}

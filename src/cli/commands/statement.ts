import type { Command } from 'commander';
import type { Statement, StatementLine } from '../../../gen/parley/account/v1/account_pb.ts';
import { facts, table } from '../terminal/table.ts';
import { type AdminCommandFlags, calling, ofAccount, ownOrCommand } from './admin-command.ts';

export function statementCommand(): Command {
  return ownOrCommand('statement', "Show an account's credits in a month: its balances and their changes.", [
    'parley statement                         # of this month',
    'parley statement --month 2026-11',
    'parley statement acme --month 2026-11   # as administrator',
  ])
    .option('--month <month>', 'a month (UTC), such as 2026-11 (default: this month)')
    .action(
      calling('getStatement', requestOf, ({ statement }) => (statement ? statementText(statement) : '')),
    );
}

function requestOf(account: string | undefined, flags: AdminCommandFlags & { readonly month?: string }) {
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

import { type Command, Option } from 'commander';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { accountOrders, accountStates } from '../../core/entities/account.ts';
import type { AdminMethod } from '../../core/services.ts';
import { present } from '../../core/values/json.ts';
import type { AdminConnection, AdminResponse } from '../client/admin-server.ts';
import { newCommand } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { facts, table } from '../terminal/table.ts';
import { printable, printData, shown } from '../terminal/terminal.ts';
import { dateText, timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  calling,
  itemsOf,
  type ListMethod,
  listAndShow,
  ofAccount,
  pages,
  show,
  withAdmin,
} from './admin-command.ts';
import {
  limitFacts,
  type NoLimitsFlag,
  replacingLimits,
  withLimitOptions,
  withNoLimits,
} from './limit-options.ts';

export const accountArgument = ['<account>', 'its id or name'] as const;
const nameArgument = ['<name>', '1 to 100 characters, unique'] as const;

export function accountCommand(): Command {
  const list = adminCommand('list', 'List the accounts.');
  const limit = adminCommand(
    'limits',
    'Set the limits of an account as a whole, and replace all earlier ones.',
  );
  return newCommand('account', 'Create, show and limit accounts.')
    .addCommand(
      adminCommand('create', 'Create an account, without plan and credits.')
        .argument(...nameArgument)
        .action(
          calling('createAccount', (name: string) => ({ name }), accountFacts, { mayMakeFolder: true }),
        ),
    )
    .addCommand(
      list
        .option('--name <part>', 'only accounts with this in their name')
        .addOption(new Option('--state <state>', 'only accounts in this state').choices(accountStates))
        .addOption(new Option('--sort <order>', 'default: created').choices(accountOrders))
        .option('--names', 'print only the names, one a line')
        .action(listAccounts),
    )
    .addCommand(oneCommand('show', 'Show an account: its plan, balance and fair use.', 'getAccount'))
    .addCommand(
      withNoLimits(withLimitOptions(limit.argument(...accountArgument))).action(
        calling('setAccountLimits', limitsRequest, accountFacts),
      ),
    )
    .addCommand(
      adminCommand('rename', 'Give an account another name.')
        .argument(...accountArgument)
        .argument(...nameArgument)
        .action(
          calling('renameAccount', (id: string, name: string) => ({ accountId: id, name }), accountFacts),
        ),
    )
    .addCommand(
      oneCommand('suspend', 'Refuse all requests of an account. Nothing is lost.', 'suspendAccount'),
    )
    .addCommand(oneCommand('resume', 'Serve a suspended account again.', 'resumeAccount'))
    .addCommand(accountExportCommand())
    .addCommand(deleteCommand());
}

function deleteCommand(): Command {
  const description =
    'Delete an account for good. Its keys end, its name is free; its usage and ledger stay under its id.';
  return withYes(adminCommand('delete', description).argument(...accountArgument)).action(deleteAccount);
}

/** A command that takes nothing but an account. */
function oneCommand(
  name: string,
  description: string,
  method: 'getAccount' | 'suspendAccount' | 'resumeAccount',
): Command {
  return adminCommand(name, description)
    .argument(...accountArgument)
    .action(calling(method, ofAccount, accountFacts));
}

function deleteAccount(accountId: string, flags: AdminCommandFlags & YesFlag): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const { account } = await admin.invoke('getAccount', { accountId });
    const { name, balance } = account ?? {};
    const lost = 'Its keys stop working, its plan ends, and nobody can spend its';
    await confirm(`Delete the account ${name} for good? ${lost} ${balance} credits.`, flags);
    const response = await admin.invoke('deleteAccount', { accountId });
    await show(flags, 'deleteAccount', response, accountFacts);
  });
}

interface ListFlags extends AdminCommandFlags {
  readonly name?: string;
  readonly state?: string;
  readonly sort?: string;
  readonly names?: boolean;
}

async function listAccounts(flags: ListFlags): Promise<void> {
  const { name, state, sort, names = false } = flags;
  const filter = present({ nameContains: name, state, orderBy: sort });
  // Shells ask for names at each TAB, which must not upgrade the database.
  const options = { isGuest: names };
  await listAndShow(flags, 'listAccounts', filter, names ? nameLines : accountTable, options);
}

function limitsRequest(accountId: string, flags: NoLimitsFlag, self: Command) {
  return { accountId, ...replacingLimits(flags, self) };
}

function nameLines({ accounts }: { readonly accounts: readonly Account[] }): string {
  return accounts.map(({ name }) => `${printable(name)}\n`).join('');
}

function accountTable({ accounts }: { readonly accounts: readonly Account[] }): string {
  return table(accounts, [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'ID', cell: ({ id }) => id },
    { title: 'SUBSCRIPTION', cell: subscriptionText },
    { title: 'CREDITS', cell: ({ balance }) => balance, align: 'right' },
    { title: 'FAIR USE', cell: fairUseText, align: 'right' },
    { title: 'CREATED (UTC)', cell: ({ createdAt }) => timeText(createdAt) },
    { title: 'LAST USED (UTC)', cell: ({ lastUsedAt }) => timeText(lastUsedAt) },
  ]);
}

export function accountFacts({ account }: { readonly account?: Account | undefined }): string {
  return facts([
    ['name', account?.name],
    ['id', account?.id],
    ['created', timeText(account?.createdAt)],
    ['last used', account?.lastUsedAt && timeText(account.lastUsedAt)],
    ...lifeFacts(account),
    ['subscription', account && subscriptionText(account)],
    ['credits', account?.balance],
    ['fair use', account && `${fairUseText(account)} units, from 0 again on ${resetDate(account)}`],
    ...(account?.limits ? limitFacts(account.limits, account.limitCounts) : []),
  ]);
}

function lifeFacts(account: Account | undefined): [string, string | undefined][] {
  if (account?.deletedAt) return [['deleted', timeText(account.deletedAt)]];
  return account?.suspendedAt ? [['suspended', timeText(account.suspendedAt)]] : [];
}

function subscriptionText({ subscription }: Account): string | undefined {
  const ends = dateText(subscription?.endsAt);
  if (subscription === undefined || ends === undefined) return subscription?.state;
  return `${subscription.state} ${subscription.state === 'ended' ? 'on' : 'until'} ${ends}`;
}

function fairUseText({ fairUse }: Account): string {
  return `${fairUse?.usedUnits ?? 0} of ${fairUse?.limitUnits ?? 0}`;
}

function resetDate({ fairUse }: Account): string {
  return dateText(fairUse?.resetsAt) ?? '';
}

/** The lists of an account. Alerts end with their account. */
const lists = [
  ['key', 'listKeys'],
  ['ledger_entry', 'listLedgerEntries'],
  ['usage_record', 'listUsageRecords'],
  ['alert', 'listAlerts'],
] as const;

type Row = Readonly<Record<string, unknown>>;

function accountExportCommand(): Command {
  return adminCommand('export', 'Print everything stored about an account as JSON Lines.')
    .argument('<account>', 'its id or name; its id once it is deleted')
    .action(exportAccount);
}

function exportAccount(idOrName: string, flags: AdminCommandFlags): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const response = await admin.invoke('getAccount', { accountId: idOrName });
    const { id: accountId = '', deletedAt } = response.account ?? {};
    await print('account', [(await encoded('getAccount', response)) as Row]);
    const ids = new Set<unknown>([accountId]);
    for (const [kind, method] of lists.filter(([kind]) => kind !== 'alert' || deletedAt === undefined)) {
      for await (const rows of rowsOf(admin, method, { accountId })) {
        if (kind === 'key') for (const { id } of rows) ids.add(id);
        await print(kind, rows);
      }
    }
    if (deletedAt === undefined) {
      const settings = await admin.invoke('getAlertSettings', { accountId });
      await print('alert_settings', [(await encoded('getAlertSettings', settings)) as Row]);
    }
    const months = { accountId, groupBy: ['month', 'operation'] };
    const totals = await encoded('getUsageTotals', await admin.invoke('getUsageTotals', months));
    await print('usage_total', (totals as { readonly totals?: readonly Row[] }).totals ?? []);
    for await (const rows of rowsOf(admin, 'listAuditEntries', {})) {
      const own = rows.filter(({ target, actor }) => ids.has(target) || ids.has(actor));
      await print('audit_entry', own);
    }
  });
}

/** The pages of a list, in the form of the REST API. */
async function* rowsOf(admin: AdminConnection, method: ListMethod, of: object) {
  for await (const page of pages(admin, method, of))
    yield itemsOf(method, (await encoded(method, page)) as object) as Row[];
}

async function encoded<K extends AdminMethod>(method: K, response: AdminResponse<K>): Promise<unknown> {
  const { adminMethods, responseBodyCodec } = await import('../client/admin-connection.ts');
  return responseBodyCodec(adminMethods[method]).encode(response);
}

function print(kind: string, rows: readonly Row[]): Promise<void> {
  return printData(shown(rows.map((row) => `${JSON.stringify({ kind, data: row })}\n`).join('')));
}

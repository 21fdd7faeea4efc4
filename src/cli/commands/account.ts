import { type Command, Option } from 'commander';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { accountOrders, accountStates } from '../../core/entities/account.ts';
import type { AdminMethod } from '../../core/services.ts';
import type { AdminConnection, AdminResponse } from '../client/admin-server.ts';
import { newCommand } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { facts, table } from '../terminal/table.ts';
import { printable, printData, shown } from '../terminal/terminal.ts';
import { dateText, timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  callAndShow,
  listAndShow,
  pages,
  show,
  withAdmin,
} from './admin-command.ts';
import {
  type LimitFlags,
  limitFacts,
  replacingLimits,
  withLimitOptions,
  withNoLimits,
} from './limit-options.ts';

export const accountArgument = ['<account>', 'its id or name'] as const;
const nameArgument = ['<name>', '1 to 100 characters, unique'] as const;

export function accountCommand(): Command {
  const list = adminCommand('list', 'List the accounts.', [
    'parley account list',
    'parley account list --json',
  ]);
  const limit = adminCommand(
    'limits',
    'Set the limits of an account as a whole, and replace all earlier ones.',
    [
      'parley account limits acme --budget-per-month 100 --requests-per-minute 600',
      'parley account limits acme --none',
    ],
  );
  return newCommand('account', 'Create, show and limit accounts.', [
    'parley account create acme',
    'parley account list',
    'parley account list --state trial --sort credits',
  ])
    .addCommand(
      adminCommand('create', 'Create an account, without plan and credits.', ['parley account create acme'])
        .argument(...nameArgument)
        .action(createAccount),
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
    .addCommand(withNoLimits(withLimitOptions(limit.argument(...accountArgument))).action(limitAccount))
    .addCommand(
      adminCommand('rename', 'Give an account another name.', ['parley account rename acme acme-corp'])
        .argument(...accountArgument)
        .argument(...nameArgument)
        .action(renameAccount),
    )
    .addCommand(
      oneCommand('suspend', 'Refuse all requests of an account. Nothing is lost.', 'suspendAccount'),
    )
    .addCommand(oneCommand('resume', 'Serve a suspended account again.', 'resumeAccount'))
    .addCommand(accountExportCommand())
    .addCommand(
      withYes(
        adminCommand('delete', deleteText, [
          'parley account delete acme',
          'parley account delete acme --yes',
        ]),
      )
        .argument(...accountArgument)
        .action(deleteAccount),
    );
}

const deleteText =
  'Delete an account for good. Its keys end, its name is free; its usage and ledger stay under its id.';

/** A command that takes nothing but an account. */
function oneCommand(
  name: string,
  description: string,
  method: 'getAccount' | 'suspendAccount' | 'resumeAccount',
): Command {
  return adminCommand(name, description, [`parley account ${name} acme`])
    .argument(...accountArgument)
    .action(async (accountId: string, flags: AdminCommandFlags) => {
      await callAndShow(flags, method, { accountId }, accountFacts);
    });
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

async function createAccount(name: string, flags: AdminCommandFlags): Promise<void> {
  await callAndShow(flags, 'createAccount', { name }, accountFacts, { mayMakeFolder: true });
}

async function renameAccount(accountId: string, name: string, flags: AdminCommandFlags): Promise<void> {
  await callAndShow(flags, 'renameAccount', { accountId, name }, accountFacts);
}

interface ListFlags extends AdminCommandFlags {
  readonly name?: string;
  readonly state?: string;
  readonly sort?: string;
  readonly names?: boolean;
}

async function listAccounts(flags: ListFlags): Promise<void> {
  const { name, state, sort } = flags;
  const filter = {
    ...(name !== undefined && { nameContains: name }),
    ...(state !== undefined && { state }),
    ...(sort !== undefined && { orderBy: sort }),
  };
  await listAndShow(
    flags,
    'listAccounts',
    (admin, page) => admin.invoke('listAccounts', { ...page, ...filter }),
    ({ accounts }) => accounts,
    flags.names ? nameLines : accountTable,
    // Shells ask for names at each TAB, which must not upgrade the database.
    { isGuest: flags.names ?? false },
  );
}

async function limitAccount(
  accountId: string,
  flags: AdminCommandFlags & LimitFlags,
  command: Command,
): Promise<void> {
  const request = { accountId, ...replacingLimits(flags, command) };
  await callAndShow(flags, 'setAccountLimits', request, accountFacts);
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

/** The account in a response, one line per fact. */
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

/** The lists of an account, and the members of their pages. Alerts end with their account. */
const lists = [
  { kind: 'key', method: 'listKeys', member: 'keys' },
  { kind: 'ledger_entry', method: 'listLedgerEntries', member: 'entries' },
  { kind: 'usage_record', method: 'listUsageRecords', member: 'records' },
] as const;
const alerts = { kind: 'alert', method: 'listAlerts', member: 'alerts' } as const;
const audit = { kind: 'audit_entry', method: 'listAuditEntries', member: 'entries' } as const;

type List = (typeof lists)[number] | typeof alerts | typeof audit;
type Row = Readonly<Record<string, unknown>>;

function accountExportCommand(): Command {
  return adminCommand('export', 'Print everything stored about an account as JSON Lines.', [
    'parley account export acme > acme.jsonl',
  ])
    .argument('<account>', 'its id or name; its id once it is deleted')
    .action(exportAccount);
}

function exportAccount(idOrName: string, flags: AdminCommandFlags): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const response = await admin.invoke('getAccount', { accountId: idOrName });
    const { id: accountId = '', deletedAt } = response.account ?? {};
    await print('account', [(await encoded('getAccount', response)) as Row]);
    const ids = new Set<unknown>([accountId]);
    for (const list of deletedAt === undefined ? [...lists, alerts] : lists) {
      for await (const rows of rowsOf(admin, list, { accountId })) {
        if (list.kind === 'key') for (const { id } of rows) ids.add(id);
        await print(list.kind, rows);
      }
    }
    if (deletedAt === undefined) {
      const settings = await admin.invoke('getAlertSettings', { accountId });
      await print('alert_settings', [(await encoded('getAlertSettings', settings)) as Row]);
    }
    const months = { accountId, groupBy: ['month', 'operation'] };
    const totals = await encoded('getUsageTotals', await admin.invoke('getUsageTotals', months));
    await print('usage_total', member(totals, 'totals'));
    for await (const rows of rowsOf(admin, audit, {})) {
      await print(
        audit.kind,
        rows.filter(({ target, actor }) => ids.has(target) || ids.has(actor)),
      );
    }
  });
}

/** The pages of a list, in the form of the REST API. */
async function* rowsOf(admin: AdminConnection, { method, member: name }: List, of: object) {
  const all = pages(
    (request) => admin.invoke(method, { ...request, ...of }),
    () => [],
  );
  for await (const page of all) yield member(await encoded(method, page), name);
}

async function encoded<K extends AdminMethod>(method: K, response: AdminResponse<K>): Promise<unknown> {
  const { adminMethods, responseBodyCodec } = await import('../client/admin-connection.ts');
  return responseBodyCodec(adminMethods[method]).encode(response);
}

function member(body: unknown, name: string): readonly Row[] {
  return (body as Readonly<Record<string, readonly Row[]>>)[name] ?? [];
}

function print(kind: string, rows: readonly Row[]): Promise<void> {
  return printData(shown(rows.map((row) => `${JSON.stringify({ kind, data: row })}\n`).join('')));
}

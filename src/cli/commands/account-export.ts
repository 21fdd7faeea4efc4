/** Everything that is stored about an account, as JSON Lines. */
import type { Command } from 'commander';
import type { AdminMethod } from '../../core/services.ts';
import type { AdminConnection, AdminResponse } from '../client/admin-calls.ts';
import { printData } from '../terminal/terminal.ts';
import { type AdminCommandFlags, adminCommand, pages, withAdmin } from './admin-command.ts';

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

export function accountExportCommand(): Command {
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
  return printData(rows.map((row) => `${JSON.stringify({ kind, data: row })}\n`).join(''));
}

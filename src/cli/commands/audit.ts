import { create } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { type AuditEntry, ListAuditEntriesResponseSchema } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { collect, limitDefault, parseLimit } from '../client/paging.ts';
import { table } from '../terminal/table.ts';
import { timeText } from '../terminal/times.ts';
import { type AdminCommandFlags, adminCommand, show, withAdmin } from './admin-command.ts';

interface AuditFlags extends AdminCommandFlags {
  readonly limit: number;
}

export function auditCommand(): Command {
  return adminCommand('audit', 'Show who changed what, the newest first.', ['parley audit --limit 100'])
    .option('--limit <number>', 'how many entries', parseLimit, limitDefault)
    .action(showAudit);
}

function showAudit(flags: AuditFlags): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const entries = await collect(flags.limit, async (request) => {
      const page = await admin.invoke('listAuditEntries', request);
      return { items: page.entries, next: page.nextPageToken };
    });
    await show(flags, 'listAuditEntries', create(ListAuditEntriesResponseSchema, { entries }), auditTable);
  });
}

function auditTable({ entries }: { readonly entries: readonly AuditEntry[] }): string {
  return table(entries, [
    { title: 'TIME (UTC)', cell: ({ createdAt }) => timeText(createdAt) },
    { title: 'BY', cell: ({ actor }) => actor },
    { title: 'ACTION', cell: ({ action }) => action },
    { title: 'ON', cell: ({ target }) => target },
    { title: 'DETAILS', cell: ({ details }) => details },
  ]);
}

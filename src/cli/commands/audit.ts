import { create } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { type AuditEntry, ListAuditEntriesResponseSchema } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { withAdmin } from '../client/admin-connection.ts';
import { table } from '../terminal/table.ts';
import { timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  collect,
  type LimitFlag,
  limitOption,
  show,
} from './admin-command.ts';

export function auditCommand(): Command {
  return adminCommand('audit', 'Show who changed what, the newest first.', ['parley audit --limit 100'])
    .addOption(limitOption('entries'))
    .action(showAudit);
}

function showAudit(flags: AdminCommandFlags & LimitFlag): Promise<void> {
  return withAdmin(flags, async (admin) => {
    const entries = await collect(
      (request) => admin.invoke('listAuditEntries', request),
      (page) => page.entries,
      flags.limit,
    );
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

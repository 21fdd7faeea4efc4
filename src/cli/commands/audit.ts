import type { Command } from 'commander';
import type { AuditEntry } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { table } from '../terminal/table.ts';
import { timeText } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  type LimitFlag,
  limitOption,
  listAndShow,
} from './admin-command.ts';

export function auditCommand(): Command {
  return adminCommand('audit', 'Show who changed what, the newest first.', ['parley audit --limit 100'])
    .addOption(limitOption('entries'))
    .action(showAudit);
}

async function showAudit(flags: AdminCommandFlags & LimitFlag): Promise<void> {
  await listAndShow(
    flags,
    'listAuditEntries',
    (admin, page) => admin.invoke('listAuditEntries', page),
    ({ entries }) => entries,
    auditTable,
  );
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

import type { Command } from 'commander';
import type { AuditEntry } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { present } from '../../core/values/json.ts';
import { table } from '../terminal/table.ts';
import { printData, shown } from '../terminal/terminal.ts';
import { msOf, type PeriodFlags, periodOf, timeText, withPeriod } from '../terminal/times.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  type LimitFlag,
  limitOption,
  listAndShow,
  withAdmin,
} from './admin-command.ts';

export function auditCommand(): Command {
  const command = adminCommand('audit', 'Show who changed what, the newest first.')
    .addOption(limitOption('entries'))
    .option('--actor <actor>', 'only by this author: the id of a key, a person, or cli')
    .option('--search <text>', 'only with this text in action, author, target or details');
  return withPeriod(command).action(showAudit).addCommand(exportCommand());
}

function exportCommand(): Command {
  return adminCommand(
    'export',
    'Print audit entries as JSON Lines, the oldest first, without those of the last minute.',
  )
    .option('--after <id>', 'only entries after the one with this id', '')
    .action((_, self: Command) => exportAudit(self.optsWithGlobals()));
}

async function exportAudit(flags: AdminCommandFlags & { readonly after: string }): Promise<void> {
  await withAdmin(flags, async (admin) => {
    const readAfter = async (after: string) =>
      (await admin.invoke('listAuditEntries', { after, pageSize: 1_000 })).entries;
    let entries = await readAfter(flags.after);
    for (let last = entries.at(-1); last !== undefined; last = entries.at(-1)) {
      await printData(shown(entries.map(auditLine).join('')));
      entries = await readAfter(last.id);
    }
  });
}

function auditLine({ id, createdAt, actor, action, target, details }: AuditEntry): string {
  const time = createdAt && new Date(msOf(createdAt)).toISOString();
  return `${JSON.stringify({ id, created_at: time, actor, action, target, details: JSON.parse(details) })}\n`;
}

interface AuditFlags extends AdminCommandFlags, LimitFlag, PeriodFlags {
  readonly actor?: string;
  readonly search?: string;
}

async function showAudit({ actor, search, ...flags }: AuditFlags): Promise<void> {
  const filter = { ...present({ actor, search }), ...periodOf(flags) };
  await listAndShow(flags, 'listAuditEntries', filter, auditTable);
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

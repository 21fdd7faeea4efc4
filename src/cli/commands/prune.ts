import type { Command } from 'commander';
import type { PruneUsageRecordsResponse } from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { AdminConnection } from '../client/admin-server.ts';
import { wholeNumber } from '../flags.ts';
import { usageError } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { StepProgress } from '../terminal/status-bar.ts';
import { dayMs, parseMoment, timestampOf } from '../terminal/times.ts';
import { type AdminCommandFlags, adminCommand, show, withAdmin } from './admin-command.ts';

interface PruneFlags extends AdminCommandFlags, YesFlag {
  readonly before?: Date;
  readonly keepDays?: number;
  readonly dryRun?: boolean;
}

export function pruneCommand(): Command {
  const command = adminCommand('prune', 'Remove old usage records. Their totals and the whole ledger stay.');
  return withYes(command)
    .option(
      '--before <when>',
      'records older than a date (0:00 UTC), a time, or a span such as 90d',
      parseMoment,
    )
    .option('--keep-days <number>', 'records older than this number of days', wholeNumber(0, 99_999))
    .option('--dry-run', 'remove nothing, only count the records')
    .action(prune);
}

function prune(flags: PruneFlags, command: Command): Promise<void> {
  const { before, keepDays } = flags;
  if ((before === undefined) === (keepDays === undefined)) {
    usageError(command, 'give --before or --keep-days');
  }
  const end = before ?? new Date(Date.now() - (keepDays ?? 0) * dayMs);
  return withAdmin(flags, async (admin) => {
    const before = timestampOf(end.getTime());
    const all = await admin.invoke('pruneUsageRecords', { before, dryRun: true });
    if (!flags.dryRun) {
      const records = `${all.recordsRemoved} usage records that started before ${end.toISOString()}`;
      await confirm(`Remove ${records} for good? Their totals and the ledger stay.`, flags);
      await remove(admin, before, all);
    }
    await show(flags, 'pruneUsageRecords', all, (done) => pruneText(done, end, flags));
  });
}

/** @param counted gets the numbers of what was removed */
async function remove(
  admin: AdminConnection,
  before: ReturnType<typeof timestampOf>,
  counted: PruneUsageRecordsResponse,
): Promise<void> {
  const total = Number(counted.recordsRemoved);
  Object.assign(counted, { recordsRemoved: 0n, answersRemoved: 0n, complete: false });
  const progress = new StepProgress('rows');
  // Each call removes a limited number of records, so that no call takes long.
  while (!counted.complete) {
    const part = await admin.invoke('pruneUsageRecords', { before, dryRun: false });
    counted.recordsRemoved += part.recordsRemoved;
    counted.answersRemoved += part.answersRemoved;
    counted.complete = part.complete;
    // Requests may have ended since they were counted.
    const removed = Number(counted.recordsRemoved);
    if (removed > 0) progress.show('removing usage records', removed, Math.max(total, removed));
  }
  progress.close();
}

function pruneText(
  { recordsRemoved, answersRemoved }: PruneUsageRecordsResponse,
  end: Date,
  { dryRun }: PruneFlags,
): string {
  const done = dryRun ? 'Would remove' : 'Removed';
  return `${done} ${recordsRemoved} usage records that started before ${end.toISOString()}, and ${answersRemoved} idempotency records.\n`;
}

import type { Command } from 'commander';
import type { AdminConnection } from '../client/admin-server.ts';
import { newCommand } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { parseExpiry, timestampOf } from '../terminal/times.ts';
import { accountArgument, accountFacts } from './account.ts';
import {
  type AdminCommandFlags,
  adminCommand,
  calling,
  ofAccount,
  show,
  withAdmin,
} from './admin-command.ts';

interface ActivateFlags extends AdminCommandFlags {
  readonly until: Date;
}

export function planCommand(): Command {
  const startTrial = 'Start the 14-day trial of an account. Each account has one trial.';
  const end = adminCommand('end', 'End the plan or trial of an account at once.');
  return newCommand('plan', 'Open and end plans, which speech and transcription need.')
    .addCommand(
      adminCommand('start-trial', startTrial)
        .argument(...accountArgument)
        .action(calling('startTrial', ofAccount, accountFacts)),
    )
    .addCommand(
      adminCommand('activate', 'Open the paid plan of an account until a given time.')
        .argument(...accountArgument)
        .requiredOption(
          '--until <when>',
          'a date such as 2027-01-31 (0:00 UTC), or a span such as 30d',
          parseExpiry,
        )
        .action(calling('activatePlan', activation, accountFacts)),
    )
    .addCommand(withYes(end.argument(...accountArgument)).action(endPlan));
}

function activation(accountId: string, { until }: ActivateFlags) {
  return { accountId, endsAt: timestampOf(until.getTime()) };
}

function endPlan(accountId: string, flags: AdminCommandFlags & YesFlag): Promise<void> {
  return withAdmin(flags, async (admin) => {
    if (!flags.yes) await confirmEnd(admin, accountId, flags);
    await show(flags, 'endPlan', await admin.invoke('endPlan', { accountId }), accountFacts);
  });
}

/** Reads the account, which takes a scope that ending a plan does not need. */
async function confirmEnd(admin: AdminConnection, accountId: string, flags: YesFlag): Promise<void> {
  const { account } = await admin.invoke('getAccount', { accountId });
  const isTrial = account?.subscription?.state === 'trial';
  const lost = isTrial ? 'It has no other trial, and speech' : 'Speech';
  const question = `End the ${isTrial ? 'trial' : 'plan'} of ${account?.name} now? ${lost} and transcription are refused from now on.`;
  await confirm(question, flags);
}

import { type Command, Option } from 'commander';
import { operations, recordCodes, recordStates } from '../../core/entities/usage.ts';
import { present } from '../../core/values/json.ts';
import { wholeNumber } from '../flags.ts';
import { type PeriodFlags, periodOf, withPeriod } from '../terminal/times.ts';
import type { AdminCommandFlags } from './admin-command.ts';

export interface UsageFilterFlags extends AdminCommandFlags, PeriodFlags {
  readonly account?: string;
  readonly operation?: string;
  readonly model?: string;
  readonly state?: string;
  readonly code?: string;
  readonly engine?: string;
  readonly status?: number;
  readonly endUser?: string;
  readonly tag?: string;
  readonly id?: string;
}

export function withFilters(command: Command): Command {
  const account = "an account's id or name (default: all accounts)";
  return withPeriod(command.option('--account <account>', account))
    .addOption(new Option('--operation <operation>', 'only of this operation').choices(operations))
    .option('--model <model>', 'only of this model')
    .addOption(new Option('--state <state>', 'only in this state').choices(recordStates))
    .addOption(new Option('--code <code>', 'only with this error code').choices(recordCodes))
    .option('--engine <engine>', 'only of this engine, which answered or was tried last')
    .option('--status <status>', 'only with this HTTP status', wholeNumber(100, 599))
    .option('--end-user <name>', 'only of this end user')
    .option('--tag <tag>', 'only with this tag')
    .option('--id <id>', 'only the request with this id (x-request-id)');
}

export function usageFilter(flags: UsageFilterFlags) {
  const { account: accountId, status: httpStatus, operation, model, state, code } = flags;
  const { engine, endUser, tag, id } = flags;
  const filter = { accountId, operation, model, state, code, engine, httpStatus, endUser, tag, id };
  return { ...present(filter), ...periodOf(flags) };
}

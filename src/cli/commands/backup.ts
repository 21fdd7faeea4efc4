import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { BackupFacts } from '../../app/backup.ts';
import { fileReason, systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';
import { newCommand } from '../terminal/command.ts';
import { type JsonFlag, printData, printJson } from '../terminal/terminal.ts';
import { type ConfigFlags, configOf, withConfigFlags } from './config-flags.ts';

interface BackupFlags extends ConfigFlags, JsonFlag {
  readonly force?: boolean;
}

export function backupCommand(): Command {
  const command = newCommand('backup', 'Copy the database to a file, while the server runs or not.', [
    'parley backup /backups/parley.db',
    'parley backup "/backups/parley-$(date +%F).db" --data-dir /var/lib/parley',
  ])
    .argument('<file>', 'the file to write, outside of the data folder')
    .option('--force', 'replace the file where there is one')
    .option('--json', 'print one JSON document');
  return withConfigFlags(command).action(backup);
}

async function backup(file: string, flags: BackupFlags): Promise<void> {
  const { dataDir } = configOf(flags);
  const { backUp } = await import('../../app/backup.ts');
  try {
    const facts = await backUp(dataDir, file, flags.force);
    if (flags.json) await printJson({ file, ...factsJson(facts) });
    else await printData(`${file} is written and verified: ${factsText(facts)}.\n`);
  } catch (error) {
    throw fileError(error, `The backup ${file} cannot be written`);
  }
}

export function factsJson({ bytes, schema, accounts, newestRecordMs }: BackupFacts): JsonObject {
  return {
    bytes,
    schema,
    accounts,
    newest_record: newestRecordMs === undefined ? null : timeOf(newestRecordMs),
  };
}

export function factsText({ bytes, accounts, newestRecordMs }: BackupFacts): string {
  const newest =
    newestRecordMs === undefined ? 'no request' : `the newest request of ${timeOf(newestRecordMs)}`;
  return `${(bytes / 1_000_000).toFixed(1)} MB, ${accounts} ${accounts === 1 ? 'account' : 'accounts'}, ${newest}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Puts into words what the system says of a file; any other error stays what it is. */
export function fileError(error: unknown, what: string): unknown {
  const isOfSystem = systemCode(error) !== undefined && error instanceof Error && 'syscall' in error;
  return isOfSystem ? new CliError(`${what} (${fileReason(error)}).`, error) : error;
}

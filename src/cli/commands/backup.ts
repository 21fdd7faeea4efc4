import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { BackupFacts } from '../../app/administration.ts';
import type { Config } from '../../config/config.ts';
import { fileReason, systemCode } from '../../files/reason.ts';
import { type LocalFlags, localCommand } from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { StepProgress } from '../terminal/status-bar.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';

interface BackupFlags extends LocalFlags {
  readonly force?: boolean;
}

export function backupCommand(): Command {
  return localCommand('backup', 'Copy the database to a file. The server may run.')
    .argument('<file>', 'the file to write, outside of the data folder')
    .option('--force', 'replace the file if it exists')
    .action(backup);
}

async function backup(file: string, flags: BackupFlags): Promise<void> {
  const { dataDir } = await filesOf(flags);
  const { backUp } = await import('../../app/administration.ts');
  const progress = new StepProgress('bytes');
  try {
    const facts = await backUp(dataDir, file, flags.force, {
      copied: (bytes, bytesTotal) => progress.show(`copying to ${file}`, bytes, bytesTotal),
      verifying: (what) => progress.step(`verifying its ${what}`),
    }).finally(() => progress.close());
    if (flags.json) await printJson({ file, ...factsJson(facts) });
    else await printData(`${file} is written and verified: ${factsText(facts)}.\n`);
  } catch (error) {
    throw fileError(error, `The backup ${file} cannot be written`);
  }
}

interface RestoreFlags extends LocalFlags, YesFlag {
  readonly keep: boolean;
}

export function restoreCommand(): Command {
  const command = localCommand('restore', 'Replace the database with a backup. The server must be stopped.')
    .argument('<file>', 'a file written by `parley backup`')
    .option('--no-keep', 'do not keep the replaced database in the data folder');
  return withYes(command).action(restore);
}

async function restore(file: string, flags: RestoreFlags): Promise<void> {
  const { dataDir } = await filesOf(flags);
  if (!flags.keep) {
    const lost = 'The database there now is deleted, with all keys, usage and credits since the backup.';
    await confirm(`Replace the database of ${dataDir} for good? ${lost}`, flags);
  }
  const { restore: replace } = await import('../../app/administration.ts');
  try {
    const { keptAs, ...facts } = await replace(dataDir, file, { keep: flags.keep, nowMs: Date.now() });
    if (flags.json)
      return await printJson({ data_dir: dataDir, ...factsJson(facts), replaced: keptAs ?? null });
    await printData(`${dataDir} now has the database of ${file}: ${factsText(facts)}.`);
    if (keptAs !== undefined) printStatus(`The replaced database is kept as ${keptAs}.`);
    printStatus(
      'Keys, plans and balances are those of the backup: revoke again the keys revoked since then.',
    );
  } catch (error) {
    throw fileError(error, `${file} cannot be restored to ${dataDir}`);
  }
}

function factsJson({ bytes, schema, accounts, newestRecordMs }: BackupFacts): JsonObject {
  return {
    bytes,
    schema,
    accounts,
    newest_record: newestRecordMs === undefined ? null : timeOf(newestRecordMs),
  };
}

function factsText({ bytes, accounts, newestRecordMs }: BackupFacts): string {
  const newest =
    newestRecordMs === undefined ? 'no request' : `the newest request of ${timeOf(newestRecordMs)}`;
  return `${(bytes / 1_000_000).toFixed(1)} MB, ${accounts} ${accounts === 1 ? 'account' : 'accounts'}, ${newest}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Turns a system error into a CliError. Returns any other error unchanged. */
function fileError(error: unknown, what: string): unknown {
  const isSystemError = systemCode(error) !== undefined && error instanceof Error && 'syscall' in error;
  return isSystemError ? new CliError(`${what} (${fileReason(error)}).`, error) : error;
}

/** @throws CliError if the configured database is not that of the data folder */
async function filesOf(flags: LocalFlags): Promise<Config> {
  const { configOf } = await import('../configuration.ts');
  const config = configOf(flags);
  if (config.store.kind === 'sqlite') return config;
  throw new CliError(
    'This command is for SQLite. For PostgreSQL use its own tools, such as pg_dump and pg_restore.',
  );
}

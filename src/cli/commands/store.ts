import { type Command, Option } from 'commander';
import type { Copied, StoreKind } from '../../app/store-tools.ts';
import { dataFolderError } from '../client/data-folder.ts';
import { type JsonFlag, type LocalFlags, localCommand } from '../flags.ts';
import { CliError, interruptible, newCommand } from '../terminal/command.ts';
import { StepProgress } from '../terminal/status-bar.ts';
import { table } from '../terminal/table.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';

const verbs = { copy: 'copying', verify: 'verifying' };

interface CopyFlags extends LocalFlags {
  readonly to: StoreKind;
}

export function storeCommand(): Command {
  const copyOne = localCommand(
    'copy',
    'Copy everything from SQLite to PostgreSQL, or back, and verify it.',
  ).addOption(
    new Option('--to <kind>', 'the target database, which must be empty')
      .choices(['postgres', 'sqlite'])
      .makeOptionMandatory(),
  );
  return newCommand('store', 'Copy the database to another kind of database.').addCommand(
    copyOne.action(copy),
  );
}

async function copy(flags: CopyFlags): Promise<void> {
  const { configOf } = await import('../configuration.ts');
  const config = configOf(flags);
  const { dataDir, store } = config;
  if (store.kind !== 'postgres') {
    throw new CliError(
      'Name the PostgreSQL database in `store`, or in PARLEY_STORE_KIND=postgres and PARLEY_STORE_URL: the copy is made between it and the data folder.',
    );
  }
  const { copyConfiguredStore } = await import('../../app/store-tools.ts');
  await interruptible(async (signal) => {
    const progress = new StepProgress('rows');
    try {
      const copied = await copyConfiguredStore(config, flags.to, {
        onProgress: ({ step, table: name, rows, rowsTotal }) =>
          progress.show(`${verbs[step]} ${name}`, rows, rowsTotal),
        signal,
      });
      progress.close();
      await report(copied, flags);
    } catch (error) {
      throw dataFolderError(error, dataDir);
    } finally {
      progress.close();
    }
  });
}

async function report({ from, to, tables }: Copied, { json }: JsonFlag): Promise<void> {
  if (json) return printJson({ from, to, tables: tables.map((one) => ({ ...one })) });
  await printData(
    table(tables, [
      { title: 'TABLE', cell: (one) => one.table },
      { title: 'ROWS', cell: (one) => String(one.rows), align: 'right' },
      { title: 'SHA-256', cell: (one) => one.sha256 },
    ]),
  );
  printStatus(`Everything of ${from} is in ${to}. Rows and hashes are equal, and the accounts balance.`);
}

interface MigrateFlags extends LocalFlags {
  readonly dryRun?: boolean;
}

export function migrateCommand(): Command {
  return localCommand('migrate', 'Migrate the database to the schema of this version.')
    .option('--dry-run', 'change nothing, only list the pending migrations')
    .action(migrate);
}

async function migrate(flags: MigrateFlags): Promise<void> {
  const { configOf } = await import('../configuration.ts');
  const config = configOf(flags);
  const { migrateConfiguredStore } = await import('../../app/store-tools.ts');
  const progress = new StepProgress('rows');
  try {
    const isDry = flags.dryRun ?? false;
    const migrations = await migrateConfiguredStore(config, isDry, (name, place) =>
      progress.step(`applying ${name}, ${place}`),
    ).finally(() => progress.close());
    if (flags.json) return await printJson({ dry_run: isDry, migrations: [...migrations] });
    const done = isDry ? 'Would apply' : 'Applied';
    const text = migrations.map((name) => `${done} ${name}.\n`).join('');
    await printData(text || 'The schema is up to date.\n');
  } catch (error) {
    throw dataFolderError(error, config.dataDir);
  }
}

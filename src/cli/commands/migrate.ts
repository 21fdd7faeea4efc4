import type { Command } from 'commander';
import { dataFolderError } from '../client/data-folder.ts';
import { type LocalFlags, localCommand } from '../flags.ts';
import { StepProgress } from '../terminal/status-bar.ts';
import { printData, printJson } from '../terminal/terminal.ts';

interface MigrateFlags extends LocalFlags {
  readonly dryRun?: boolean;
}

export function migrateCommand(): Command {
  return localCommand('migrate', 'Migrate the database to the schema of this version.', [
    'parley migrate --dry-run # only list the pending migrations',
    'parley migrate # before the first server of a new version starts',
  ])
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

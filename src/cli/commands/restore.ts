import type { Command } from 'commander';
import { newCommand } from '../terminal/command.ts';
import { type JsonFlag, printData, printJson, printStatus } from '../terminal/terminal.ts';
import { factsJson, factsText, fileError } from './backup.ts';
import { type ConfigFlags, configOf, withConfigFlags } from './config-flags.ts';

interface RestoreFlags extends ConfigFlags, JsonFlag {
  readonly keep: boolean;
}

export function restoreCommand(): Command {
  const command = newCommand(
    'restore',
    'Put a backup in the place of the database. The server must be stopped.',
    [
      'parley restore /backups/parley.db',
      'parley restore /backups/parley.db --no-keep   # throw away what is replaced',
    ],
  )
    .argument('<file>', 'a file that `parley backup` has written')
    .option('--no-keep', 'do not keep the replaced database in the data folder')
    .option('--json', 'print one JSON document');
  return withConfigFlags(command).action(restoreFile);
}

async function restoreFile(file: string, flags: RestoreFlags): Promise<void> {
  const { dataDir } = configOf(flags);
  const { restore } = await import('../../app/backup.ts');
  try {
    const { keptAs, ...facts } = await restore(dataDir, file, { keep: flags.keep, nowMs: Date.now() });
    if (flags.json)
      return await printJson({ data_dir: dataDir, ...factsJson(facts), replaced: keptAs ?? null });
    await printData(`${dataDir} has the database of ${file} now: ${factsText(facts)}.\n`);
    if (keptAs !== undefined) printStatus(`The database that it replaces is kept as ${keptAs}.`);
    printStatus('Keys, plans and balances are as they were then: revoke again what was revoked since.');
  } catch (error) {
    throw fileError(error, `${file} cannot be restored to ${dataDir}`);
  }
}

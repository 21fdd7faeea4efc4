/** The parts of a pull and a removal of a model that change runtimes and parley.yaml. */
import { existsSync, readFileSync } from 'node:fs';
import { lineDiff } from '../../config/file-entries.ts';
import { replaceFile, unwritableReason } from '../../files/replace-file.ts';
import type { CatalogueEntry } from '../../models/catalogue.ts';
import { bytesOf } from '../../models/manifest.ts';
import type { ConfigFlags } from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import { sizeText } from '../terminal/status-bar.ts';
import { printStatus } from '../terminal/terminal.ts';

/** Says what a model is and which runtime it needs. @returns installs that runtime if it is missing and Parley has archives of it */
export async function runtimeOf({ manifest, about }: CatalogueEntry, flags: ConfigFlags) {
  const [{ configOf }, { runtimePlaces }, { runtimes }, { installRuntime }] = await Promise.all([
    import('../configuration.ts'),
    import('../../app/local-programs.ts'),
    import('../../runtimes/runtimes.ts'),
    import('../../runtimes/install.ts'),
  ]);
  printStatus(`${manifest.id}: ${about}. ${sizeText(bytesOf(manifest))}, ${manifest.licence.name}.`);
  const runtime = runtimes.get(manifest.runtime);
  const places = runtimePlaces(configOf(flags));
  if (runtime === undefined || runtime.find(places) !== undefined) return async () => undefined;
  if (runtime.archives.length === 0) {
    printStatus(`It needs ${runtime.program}, which is not there. ${runtime.advice}`);
    return async () => undefined;
  }
  const { name, licence, notice = '' } = runtime;
  printStatus(`It needs the runtime ${name} (${licence}), which is installed too. ${notice}`);
  return async (signal: AbortSignal) => {
    await installRuntime(runtime, runtime.archives, places.folder, signal);
    printStatus(`${name} is installed.`);
  };
}

/**
 * Shows how parley.yaml changes.
 * @returns writes the file, and lets a running server use it; undefined if nothing changes
 * @throws ConfigError if the changed file would not be valid, CliError if it cannot be written
 */
export async function editedConfig(
  flags: ConfigFlags,
  edit: (text: string, recogniser: string) => string,
): Promise<(() => Promise<void>) | undefined> {
  const { loadWithFlags, recogniserId } = await import('../configuration.ts');
  const { file = './parley.yaml' } = loadWithFlags(flags);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const after = edit(before, recogniserId());
  if (after === before) return undefined;
  printStatus(`${file} changes:\n${lineDiff(before, after).join('\n')}`);
  const reason = unwritableReason(file);
  if (reason !== undefined) {
    const advice = 'Make the change that is shown above, then repeat the command.';
    throw new CliError(`${file} cannot be written (${reason}). ${advice}`);
  }
  loadWithFlags(flags, after);
  return async () => {
    replaceFile(file, after);
    await apply(flags, file);
  };
}

async function apply(flags: ConfigFlags, file: string): Promise<void> {
  const [{ applyConfig }, { configOf }, { readServerFile }] = await Promise.all([
    import('./config.ts'),
    import('../configuration.ts'),
    import('../client/server-file.ts'),
  ]);
  if (readServerFile(configOf(flags).dataDir) !== undefined) await applyConfig({ ...flags, config: file });
  else printStatus(`${file} is written. The server reads it when it starts.`);
}

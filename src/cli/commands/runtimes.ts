/** The commands for the programs that run local models. They change the data folder, and need no server. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Archive, Runtime, RuntimePlaces } from '../../runtimes/runtime.ts';
import { type ConfigFlags, type LocalFlags, localCommand, textLike } from '../flags.ts';
import { CliError, interruptible, newCommand } from '../terminal/command.ts';
import { confirm, withYes, type YesFlag } from '../terminal/confirm.ts';
import { table } from '../terminal/table.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';

interface InstallFlags extends LocalFlags, YesFlag {
  readonly archive?: string;
  readonly sha256?: string;
}

const versionMsMax = 10_000;
const digits = 'Write 64 hexadecimal digits.';

export function runtimesCommand(): Command {
  return newCommand('runtimes', 'Manage the programs that run local models.')
    .addCommand(localCommand('list', 'List the runtimes and where they are.').action(list))
    .addCommand(
      withYes(
        localCommand('install', 'Install a runtime in the data folder, from archives with known hashes.'),
      )
        .argument('<runtime>', 'its name in `parley runtimes list`')
        .option(
          '--archive <place>',
          'an https URL or a file (default: those that Parley knows for this machine)',
        )
        .option('--sha256 <hash>', 'the SHA-256 of that archive', textLike(/^[0-9a-f]{64}$/i, digits))
        .action(install),
    )
    .addCommand(
      localCommand(
        'verify',
        'Compare installed runtimes with their hashes, and load the smallest local model of each.',
      )
        .argument('[runtime]', 'its name (default: all that are there)')
        .action(verify),
    );
}

async function load(flags: ConfigFlags) {
  const [{ configOf }, { runtimePlaces, smallestModels }, { runtimes }, installing] = await Promise.all([
    import('../configuration.ts'),
    import('../../app/local-programs.ts'),
    import('../../runtimes/runtimes.ts'),
    import('../../runtimes/install.ts'),
  ]);
  const config = configOf(flags);
  return { ...installing, smallestModels, runtimes, config, places: runtimePlaces(config) };
}

async function list(flags: LocalFlags): Promise<void> {
  const { runtimes, places, installedArchives } = await load(flags);
  const found = [...runtimes.values()].map((runtime) => {
    const path = runtime.find(places);
    const isOwn = path !== undefined && resolve(path).startsWith(resolve(places.folder));
    const archives = isOwn ? installedArchives(runtime, places.folder) : undefined;
    return { runtime, path, source: path && sourceOf(runtime, places, archives) };
  });
  if (flags.json) {
    const shown = found.map(({ runtime: { name, runs, licence, advice }, path = null, source = null }) => {
      return { name, runs, licence, path, source, advice: path === null ? advice : null };
    });
    return printJson({ runtimes: shown });
  }
  await printData(
    table(found, [
      { title: 'RUNTIME', cell: ({ runtime }) => runtime.name },
      { title: 'RUNS', cell: ({ runtime }) => runtime.runs },
      { title: 'LICENCE', cell: ({ runtime }) => runtime.licence },
      { title: 'PATH', cell: ({ path }) => path ?? 'not installed' },
      { title: 'FROM', cell: ({ source }) => source },
    ]),
  );
  for (const { runtime, path } of found)
    if (path === undefined) printStatus(`${runtime.name}: ${runtime.advice}`);
}

/** Where a runtime that is there comes from. */
function sourceOf({ name }: Runtime, { llamaServer }: RuntimePlaces, archives?: readonly Archive[]): string {
  if (archives) return archives.map(({ from }) => from).join(', ');
  return name === 'llama' && llamaServer !== undefined ? 'programs.llamaServer' : 'PATH';
}

async function install(name: string, { archive, sha256, ...flags }: InstallFlags): Promise<void> {
  const { runtimes, places, installRuntime } = await load(flags);
  const runtime = named(runtimes, name);
  const archives = chosenArchives(runtime, archive, sha256);
  if (runtime.notice !== undefined) {
    printStatus(runtime.notice);
    await confirm(`Install ${name} (${runtime.licence})?`, flags);
  }
  await interruptible(async (signal) => {
    const path = await installRuntime(runtime, archives, places.folder, signal);
    if (flags.json) await printJson({ name, path, version: versionOf(runtime, path) ?? null });
    else printStatus(`${name} is installed: ${path}${inBrackets(versionOf(runtime, path))}.`);
  });
}

function chosenArchives(runtime: Runtime, from?: string, sha256?: string): readonly Archive[] {
  if (from !== undefined && sha256 !== undefined) return [{ from, sha256: sha256.toLowerCase() }];
  if (from !== undefined || sha256 !== undefined) throw new CliError('Give both --archive and --sha256.');
  if (runtime.archives.length > 0) return runtime.archives;
  throw new CliError(`Parley knows no archive of ${runtime.name} for this machine. ${runtime.advice}`);
}

async function verify(name: string | undefined, flags: LocalFlags): Promise<void> {
  const { runtimes, config, places, verifyRuntime, smallestModels } = await load(flags);
  const { tryModel } = await import('../../app/tried-model.ts');
  const models = smallestModels(config);
  const chosen = name === undefined ? [...runtimes.values()] : [named(runtimes, name)];
  const verified: { name: string; path: string | null; version: string | null; flaws: string[] }[] = [];
  await interruptible(async (signal) => {
    for (const runtime of chosen) {
      const path = runtime.find(places);
      const flaws = (await verifyRuntime(runtime, places.folder, signal)) ?? [];
      const version = path === undefined ? undefined : versionOf(runtime, path);
      if (path === undefined && name !== undefined) flaws.push('It is not installed.');
      const smallest = models.get(runtime.name);
      const failure = path && smallest && (await tryModel(smallest, config, signal));
      if (failure) flaws.push(`It cannot run ${smallest.model}: ${failure}.`);
      else if (path !== undefined && runtime.versionArguments(path) && version === undefined)
        flaws.push('It does not start.');
      verified.push({ name: runtime.name, path: path ?? null, version: version ?? null, flaws });
    }
  });
  if (flags.json) await printJson({ runtimes: verified });
  for (const { name, path, version, flaws } of flags.json ? [] : verified) {
    if (flaws.length > 0) printStatus(`${name}: ${flaws.join(' ')}`);
    else printStatus(`${name}: ${path === null ? 'not installed' : `${path}${inBrackets(version)}`}.`);
  }
  const wrong = verified.filter(({ flaws }) => flaws.length > 0).map(({ name }) => name);
  if (wrong.length > 0) throw new CliError(`Install again: ${wrong.join(', ')}.`);
}

function named(runtimes: ReadonlyMap<string, Runtime>, name: string): Runtime {
  const runtime = runtimes.get(name);
  if (runtime !== undefined) return runtime;
  throw new CliError(`There is no runtime ${name}. There are: ${[...runtimes.keys()].join(', ')}.`);
}

/** The last line that the program prints about its version; undefined if it cannot be started or has no such option. */
function versionOf(runtime: Runtime, path: string): string | undefined {
  const versionArguments = runtime.versionArguments(path);
  if (versionArguments === undefined) return undefined;
  const { status, stdout, stderr } = spawnSync(path, versionArguments, {
    encoding: 'utf8',
    timeout: versionMsMax,
    env: {},
  });
  if (status !== 0) return undefined;
  return `${stdout}${stderr}`.split('\n').find((line) => line.includes('version'));
}

function inBrackets(version: string | null | undefined): string {
  return version ? ` (${version})` : '';
}

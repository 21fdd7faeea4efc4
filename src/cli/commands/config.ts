import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { ConfigError, type Finding, sourceText } from '../../config/reader/finding.ts';
import { settingValues } from '../../config/setting-values.ts';
import { present } from '../../core/values/json.ts';
import { systemCode } from '../../files/reason.ts';
import type { ServerFile } from '../client/server-file.ts';
import { type ConfigFlags, type JsonFlag, type LocalFlags, localCommand, withConfigFlags } from '../flags.ts';
import { CliError, newCommand } from '../terminal/command.ts';
import { table } from '../terminal/table.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';

export function configCommand(): Command {
  return newCommand('config', 'Show, check and apply the configuration.')
    .addCommand(
      withConfigFlags(
        newCommand('apply', 'Check the configuration, and let the running server on this machine use it.'),
      ).action(applyConfig),
    )
    .addCommand(localCommand('show', 'Show each setting, its value and its source.').action(showConfig))
    .addCommand(
      newCommand('check', 'Check the configuration and show all problems at once.')
        .argument('[file]', 'the configuration file (default: ./parley.yaml, if it exists)')
        .option('--json', 'print one JSON document')
        .action(checkConfig),
    );
}

async function showConfig(flags: LocalFlags): Promise<void> {
  const { loadWithFlags } = await import('../configuration.ts');
  const { config, sourceOf } = loadWithFlags(flags);
  const settings = [...settingValues(config)].map(({ path, name, value }) => {
    return { name, value, source: sourceText(sourceOf(path)) };
  });
  if (flags.json) return printJson({ settings });
  await printData(
    table(settings, [
      { title: 'SETTING', cell: ({ name }) => name },
      { title: 'VALUE', cell: ({ value }) => String(value), mayClip: true },
      { title: 'FROM', cell: ({ source }) => source },
    ]),
  );
}

async function checkConfig(file: string | undefined, { json }: JsonFlag): Promise<void> {
  const { loadWithFlags } = await import('../configuration.ts');
  try {
    const { config, file: read, warnings } = loadWithFlags(file === undefined ? {} : { config: file });
    for (const warning of warnings) printStatus(warning);
    if (json) await printJson({ valid: true, findings: [] });
    else {
      printStatus(`${read ?? 'The configuration (without a parley.yaml)'} is valid.`);
      if (await isUsed(config.dataDir, read)) {
        printStatus(
          'A server runs with this file as it last read it. `parley config apply` makes it read the file again.',
        );
      }
    }
  } catch (error) {
    if (!json || !(error instanceof ConfigError)) throw error;
    await printJson({ valid: false, findings: error.findings.map(findingJson) });
    process.exitCode = 1;
  }
}

/** Whether the running server has this file, which may have changed since it was read. */
async function isUsed(dataDir: string, file: string | undefined): Promise<boolean> {
  const { readServerFile } = await import('../client/server-file.ts');
  return file !== undefined && readServerFile(dataDir)?.file === resolve(file);
}

function findingJson({ source, setting, message, suggestion, advice }: Finding): JsonObject {
  return { source: sourceText(source), setting, message, ...present({ suggestion, advice }) };
}

/** A server may open programs and connections before it uses a configuration. */
const reloadMsMax = 60_000;
const pollMs = 50;

/** A server may have other flags and variables than this command, so it decides itself what it can use. */
export async function applyConfig(flags: ConfigFlags): Promise<void> {
  const { loadWithFlags } = await import('../configuration.ts');
  const { readServerFile } = await import('../client/server-file.ts');
  const { config, file } = loadWithFlags(flags);
  const server = readServerFile(config.dataDir);
  if (server === undefined || !isServer(server.pid)) {
    throw new CliError(
      `No server runs on the data folder ${config.dataDir}. It reads the configuration when it starts.`,
    );
  }
  const requireFile = (read: string | undefined) => {
    if (file === undefined || read === resolve(file)) return;
    const reads = read === undefined ? 'reads no file' : `reads ${read}`;
    throw new CliError(`The server on the data folder ${config.dataDir} ${reads}, not ${resolve(file)}.`);
  };
  // Without a file it looks for one at each reload.
  if (server.file !== undefined) requireFile(server.file);
  signalReload(server);
  const { reloads, ...reloaded } = await nextReload(config.dataDir, server.reloads.count);
  if (reloads.problem !== undefined) throw new CliError(`The server continues as before: ${reloads.problem}`);
  requireFile(reloaded.file);
  printStatus(`The server uses ${file ?? 'the configuration'}.`);
}

/** After a crash the process id may belong to another program, which the signal would end. True where there is no /proc. */
function isServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('serve');
  } catch {
    return true;
  }
}

function signalReload({ pid }: ServerFile): void {
  try {
    process.kill(pid, 'SIGHUP');
  } catch (error) {
    if (systemCode(error) !== 'EPERM') throw error;
    const advice = 'Run this command as that user, or `systemctl reload parley`.';
    throw new CliError(`The server belongs to another user of this machine. ${advice}`, error);
  }
}

/** The server after the first reload that follows `count` ones. */
async function nextReload(dataDir: string, count: number): Promise<ServerFile> {
  const { readServerFile } = await import('../client/server-file.ts');
  const untilMs = performance.now() + reloadMsMax;
  while (performance.now() < untilMs) {
    const server = readServerFile(dataDir);
    if (server === undefined) throw new CliError('The server has ended.');
    if (server.reloads.count > count) return server;
    await sleep(pollMs);
  }
  throw new CliError(
    `The server has not answered within ${reloadMsMax / 1_000} s. Its log says what it does.`,
  );
}

import { resolve } from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { ConfigError, type Finding, sourceText } from '../../config/reader/finding.ts';
import { settingValues } from '../../config/setting-values.ts';
import { type ConfigFlags, type JsonFlag, withConfigFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { table } from '../terminal/table.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';
import { applyCommand } from './config-apply.ts';

type ConfigCommandFlags = ConfigFlags & JsonFlag;

export function configCommand(): Command {
  const showAll = newCommand('show', 'Show each setting, its value and its source.', [
    'parley config show',
    'PARLEY_PORT=9000 parley config show --config parley.yaml',
  ]);
  const check = newCommand('check', 'Check the configuration and show all problems at once.', [
    'parley config check',
    'parley config check parley.example.yaml',
  ]);
  const json = ['--json', 'print one JSON document'] as const;
  return newCommand('config', 'Show, check and apply the configuration.', [
    'parley config check',
    'parley config apply',
  ])
    .addCommand(applyCommand())
    .addCommand(withConfigFlags(showAll.option(...json)).action(showConfig))
    .addCommand(
      check
        .argument('[file]', 'the configuration file (default: ./parley.yaml, if it exists)')
        .option(...json)
        .action(checkConfig),
    );
}

async function showConfig(flags: ConfigCommandFlags): Promise<void> {
  const { loadWithFlags } = await import('../configuration.ts');
  const { config, sourceOf } = loadWithFlags(flags);
  const settings = [...settingValues(config)].map(({ path, name, value }) => {
    return { name, value, source: sourceText(sourceOf(path)) };
  });
  if (flags.json) return printJson({ settings });
  await printData(
    table(settings, [
      { title: 'SETTING', cell: ({ name }) => name },
      { title: 'VALUE', cell: ({ value }) => String(value) },
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
  const place = { source: sourceText(source), setting, message };
  return {
    ...place,
    ...(suggestion !== undefined && { suggestion }),
    ...(advice !== undefined && { advice }),
  };
}

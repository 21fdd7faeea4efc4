import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { type Check, type DiagnosedArea, diagnoseArea } from '../../app/diagnostics/area.ts';
import { diagnoseClock } from '../../app/diagnostics/clock.ts';
import { diagnoseDataFolder } from '../../app/diagnostics/data-folder.ts';
import { diagnoseOpenFiles } from '../../app/diagnostics/open-files.ts';
import {
  ConfigError,
  type Finding,
  type LoadedConfig,
  loadValidPart,
  type PartialConfig,
  sourceText,
} from '../../config/config.ts';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { readServerFile } from '../client/server-file.ts';
import { type ConfigFlags, configOptions, type JsonFlag, loadWithFlags, withConfigFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { printable, printData, printJson, printStatus } from '../terminal/terminal.ts';
import { diagnosePorts } from './doctor/ports.ts';

type DoctorFlags = ConfigFlags & JsonFlag;

export function doctorCommand(): Command {
  const command = newCommand('doctor', 'Check all that the server needs, with advice for each problem.', [
    'parley doctor',
    'parley doctor --config /etc/parley.yaml --json',
  ]).option('--json', 'print one JSON document');
  return withConfigFlags(command).action(doctor);
}

async function doctor(flags: DoctorFlags): Promise<void> {
  const diagnosed = await diagnoseAll(flags);
  const diagnostics = diagnosed.flatMap((area) => area.diagnostics);
  const count = (state: Diagnostic['state']) => diagnostics.filter((found) => found.state === state).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (flags.json) await printJson({ problems, warnings, checks: diagnosed.flatMap(toJson) });
  else {
    await printData(diagnosed.map(areaText).join('\n'));
    printStatus(summary(problems, warnings));
  }
  if (problems > 0) process.exitCode = 1;
}

async function diagnoseAll(flags: DoctorFlags): Promise<DiagnosedArea[]> {
  try {
    const loaded = loadWithFlags(flags);
    const configuration = { area: 'configuration', diagnostics: [readFrom(loaded), ...ignoredBy(loaded)] };
    return [configuration, ...(await diagnose({ config: loaded.config, leftOut: [] }))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const invalid = { area: 'configuration', diagnostics: error.findings.map(toDiagnostic) };
    const valid = loadValidPart(configOptions(flags));
    if (valid === undefined) return [invalid, notChecked('everything else')];
    return [invalid, ...(await diagnose(valid))];
  }
}

function notChecked(area: string): DiagnosedArea {
  const found = 'This is not checked: its settings are invalid.';
  return { area, diagnostics: [warning('settings', found, 'Correct the configuration, then try again.')] };
}

async function diagnose({ config, leftOut }: PartialConfig): Promise<DiagnosedArea[]> {
  // These modules take longest to load, so no other command loads them.
  const { diagnoseEngine } = await import('../../app/diagnostics/engine.ts');
  const { diagnoseStore } = await import('../../app/diagnostics/store.ts');
  const { diagnoseTls } = await import('../../app/diagnostics/tls.ts');
  const { dataDir } = config;
  const isLeftOut = (...settings: string[]) =>
    leftOut.some((path) => settings.some((setting) => path === setting || path.startsWith(`${setting}.`)));
  /** An area that depends on these settings. */
  const area = (name: string, settings: readonly string[], check: Check) =>
    isLeftOut(...settings) ? notChecked(name) : diagnoseArea(name, check);
  const engines = Object.keys(config.engines).map((name) =>
    diagnoseArea(`engine ${name}`, (signal) => diagnoseEngine(config, name, signal)),
  );
  const diagnosed = await Promise.all([
    ...engines,
    area('data folder', ['dataDir'], () => diagnoseDataFolder(dataDir)),
    area('ports', ['dataDir', 'server', 'admin', 'tls'], (signal) => diagnosePorts(config, signal)),
    area('TLS', ['tls'], () => diagnoseTls(config)),
    area('limits', ['dataDir', 'server', 'admin'], async () =>
      diagnoseOpenFiles(config, readServerFile(dataDir)?.pid),
    ),
  ]);
  // Reading a large database blocks this process, so it starts when no other check is waiting.
  let newestRecordMs: number | undefined;
  const database = await area('database', ['dataDir', 'store'], async (signal) => {
    const found = await diagnoseStore(config, { signal, checksPages: true });
    newestRecordMs = found.newestRecordMs;
    return found.diagnostics;
  });
  const clock = await area('clock', ['dataDir', 'store'], async () => diagnoseClock(dataDir, newestRecordMs));
  return [...diagnosed, database, clock];
}

function readFrom({ file }: LoadedConfig): Diagnostic {
  return ok('settings', `${file ?? 'The configuration (without a parley.yaml)'} is valid.`);
}

function ignoredBy({ warnings }: LoadedConfig): Diagnostic[] {
  return warnings.map((found) => warning('environment', found, 'Remove the variable where it is set.'));
}

function toDiagnostic({ source, message, suggestion, advice = 'Correct it there.' }: Finding): Diagnostic {
  const next = suggestion === undefined ? advice : `Did you mean \`${suggestion}\`?`;
  return problem(sourceText(source), message, next);
}

function toJson({ area, diagnostics }: DiagnosedArea): JsonObject[] {
  return diagnostics.map(({ state, subject, found, advice }) => ({
    area,
    subject,
    state,
    found,
    ...(advice !== undefined && { advice }),
  }));
}

const widestState = 'problem'.length;

function areaText({ area, diagnostics }: DiagnosedArea): string {
  const lines = diagnostics.flatMap(({ state, subject, found, advice }) => {
    const line = `  ${state.padEnd(widestState)}  ${subject}: ${found}`;
    return advice === undefined ? [line] : [line, `${' '.repeat(widestState + 4)}${advice}`];
  });
  return [area, ...lines].map((line) => `${printable(line)}\n`).join('');
}

function summary(problems: number, warnings: number): string {
  if (problems + warnings === 0) return 'All is well.';
  const counted = (count: number, what: string) => (count === 1 ? `1 ${what}` : `${count} ${what}s`);
  return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}

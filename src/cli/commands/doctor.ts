import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import {
  type Config,
  ConfigError,
  type Finding,
  type LoadedConfig,
  sourceText,
} from '../../config/config.ts';
import { type Diagnostic, ok, problem } from '../../core/diagnostics.ts';
import { newCommand } from '../terminal/command.ts';
import { type JsonFlag, printable, printData, printJson, printStatus } from '../terminal/terminal.ts';
import { type ConfigFlags, loadWithFlags, withConfigFlags } from './config-flags.ts';
import { type Check, type DiagnosedArea, runChecks } from './doctor/check.ts';
import { diagnoseClock } from './doctor/clock.ts';
import { diagnoseDataFolder } from './doctor/data-folder.ts';
import { diagnoseOpenFiles } from './doctor/open-files.ts';
import { diagnosePorts } from './doctor/ports.ts';

type DoctorFlags = ConfigFlags & JsonFlag;

/** Upstreams may be slow to answer; nobody waits for longer. */
const checkMsMax = 10_000;

export function doctorCommand(): Command {
  const command = newCommand('doctor', 'Check everything that the server needs, and say what to do.', [
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
    const configuration = { area: 'configuration', diagnostics: [readFrom(loaded)] };
    return [configuration, ...(await diagnose(loaded.config))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ area: 'configuration', diagnostics: error.findings.map(toDiagnostic) }];
  }
}

async function diagnose(config: Config): Promise<DiagnosedArea[]> {
  // The rooms of the server take longest to load: not for a configuration that cannot be used, nor for other commands.
  const { diagnoseEngine, diagnoseStore } = await import('../../app/diagnostics.ts');
  const { diagnoseTls } = await import('./doctor/tls.ts');
  const { dataDir } = config;
  const engines = Object.keys(config.engines).map(
    (name): Check => ({
      area: `engine ${name}`,
      run: (signal) => diagnoseEngine(config, name, signal),
    }),
  );
  const system: Check[] = [
    { area: 'data folder', run: () => diagnoseDataFolder(dataDir) },
    { area: 'ports', run: (signal) => diagnosePorts(config, signal) },
    { area: 'TLS', run: () => diagnoseTls(config) },
    { area: 'limits', run: async () => diagnoseOpenFiles(config) },
  ];
  const diagnosed = await runChecks([...engines, ...system], checkMsMax);
  // Reading a large database holds up this process: nothing else may be waiting for an answer by then.
  let newestRecordMs: number | undefined;
  const store: Check = {
    area: 'database',
    run: async (signal) => {
      const found = await diagnoseStore(dataDir, signal);
      newestRecordMs = found.newestRecordMs;
      return found.diagnostics;
    },
  };
  const database = await runChecks([store], checkMsMax);
  const clock: Check = { area: 'clock', run: async () => diagnoseClock(dataDir, newestRecordMs) };
  return [...diagnosed, ...database, ...(await runChecks([clock], checkMsMax))];
}

function readFrom({ file }: LoadedConfig): Diagnostic {
  return ok('settings', `${file ?? 'The configuration (there is no parley.yaml)'} is valid.`);
}

function toDiagnostic({ source, message, suggestion, advice = 'Mend it there.' }: Finding): Diagnostic {
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

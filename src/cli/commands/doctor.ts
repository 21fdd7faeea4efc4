import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import {
  ConfigError,
  type Finding,
  type LoadedConfig,
  loadValidPart,
  type PartialConfig,
  sourceText,
} from '../../config/config.ts';
import { type Diagnostic, ok, problem, warning } from '../../core/diagnostics.ts';
import { type ConfigFlags, configOptions, type JsonFlag, loadWithFlags, withConfigFlags } from '../flags.ts';
import { newCommand } from '../terminal/command.ts';
import { printable, printData, printJson, printStatus } from '../terminal/terminal.ts';
import { diagnoseClock } from './doctor/clock.ts';
import { diagnoseDataFolder } from './doctor/data-folder.ts';
import { diagnoseOpenFiles } from './doctor/open-files.ts';
import { diagnosePorts } from './doctor/ports.ts';

type DoctorFlags = ConfigFlags & JsonFlag;

/** One area, such as the data folder or an engine. */
interface DiagnosedArea {
  readonly area: string;
  readonly diagnostics: readonly Diagnostic[];
}

const checkMsMax = 10_000;

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
  const { diagnoseEngine, diagnoseStore } = await import('../../app/diagnostics.ts');
  const { diagnoseTls } = await import('./doctor/tls.ts');
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
    area('limits', ['dataDir', 'server', 'admin'], async () => diagnoseOpenFiles(config)),
  ]);
  // Reading a large database blocks this process, so it starts when no other check is waiting.
  let newestRecordMs: number | undefined;
  const database = await area('database', ['dataDir', 'store'], async (signal) => {
    const found = await diagnoseStore(config, signal);
    newestRecordMs = found.newestRecordMs;
    return found.diagnostics;
  });
  const clock = await area('clock', ['dataDir', 'store'], async () => diagnoseClock(dataDir, newestRecordMs));
  return [...diagnosed, database, clock];
}

type Check = (signal: AbortSignal) => Promise<readonly Diagnostic[]>;

/** A check that fails or takes too long becomes a problem like any other. */
export async function diagnoseArea(
  area: string,
  check: Check,
  timeMsMax = checkMsMax,
): Promise<DiagnosedArea> {
  const signal = AbortSignal.timeout(timeMsMax);
  const late = new Promise<readonly Diagnostic[]>((resolve) => {
    const found = `This took longer than ${timeMsMax / 1000} s.`;
    const advice = 'Try again when the machine is less busy.';
    signal.addEventListener('abort', () => resolve([problem('time', found, advice)]));
  });
  try {
    return { area, diagnostics: await Promise.race([late, check(signal)]) };
  } catch (error) {
    const advice = 'Report this with the whole output.';
    return { area, diagnostics: [problem('check', `The check itself failed (${String(error)}).`, advice)] };
  }
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

import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { type Config, ConfigError, type Finding, type LoadedConfig, sourceText } from '../config.ts';
import { type Condition, ok, problem } from '../core/condition.ts';
import { newCommand } from './command.ts';
import { type ConfigFlags, loadWithFlags, withConfigFlags } from './config-flags.ts';
import { type Check, type Examined, runChecks } from './doctor/check.ts';
import { examineClock } from './doctor/clock.ts';
import { examineDataFolder } from './doctor/data-folder.ts';
import { examineOpenFiles } from './doctor/open-files.ts';
import { examinePorts } from './doctor/ports.ts';
import { type JsonFlag, printable, printData, printJson, printStatus } from './terminal.ts';

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
  const examined = await examineAll(flags);
  const conditions = examined.flatMap((area) => area.conditions);
  const count = (state: Condition['state']) => conditions.filter((found) => found.state === state).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (flags.json) await printJson({ problems, warnings, checks: examined.flatMap(toJson) });
  else {
    await printData(examined.map(areaText).join('\n'));
    printStatus(summary(problems, warnings));
  }
  if (problems > 0) process.exitCode = 1;
}

async function examineAll(flags: DoctorFlags): Promise<Examined[]> {
  try {
    const loaded = loadWithFlags(flags);
    const configuration = { area: 'configuration', conditions: [readFrom(loaded)] };
    return [configuration, ...(await examine(loaded.config))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ area: 'configuration', conditions: error.findings.map(toCondition) }];
  }
}

async function examine(config: Config): Promise<Examined[]> {
  // The rooms of the server take longest to load: not for a configuration that cannot be used, nor for other commands.
  const { examineEngine, examineStore } = await import('../app/examination.ts');
  const { examineTls } = await import('./doctor/tls.ts');
  const { dataDir } = config;
  const engines = Object.keys(config.engines).map(
    (name): Check => ({
      area: `engine ${name}`,
      run: (signal) => examineEngine(config, name, signal),
    }),
  );
  const system: Check[] = [
    { area: 'data folder', run: () => examineDataFolder(dataDir) },
    { area: 'ports', run: (signal) => examinePorts(config, signal) },
    { area: 'TLS', run: () => examineTls(config) },
    { area: 'limits', run: async () => examineOpenFiles(config) },
  ];
  const examined = await runChecks([...engines, ...system], checkMsMax);
  // Reading a large database holds up this process: nothing else may be waiting for an answer by then.
  let newestRecordMs: number | undefined;
  const store: Check = {
    area: 'database',
    run: async (signal) => {
      const found = await examineStore(dataDir, signal);
      newestRecordMs = found.newestRecordMs;
      return found.conditions;
    },
  };
  const database = await runChecks([store], checkMsMax);
  const clock: Check = { area: 'clock', run: async () => examineClock(dataDir, newestRecordMs) };
  return [...examined, ...database, ...(await runChecks([clock], checkMsMax))];
}

function readFrom({ file }: LoadedConfig): Condition {
  return ok('settings', `${file ?? 'The configuration (there is no parley.yaml)'} is valid.`);
}

function toCondition({ source, message, suggestion, advice = 'Mend it there.' }: Finding): Condition {
  const next = suggestion === undefined ? advice : `Did you mean \`${suggestion}\`?`;
  return problem(sourceText(source), message, next);
}

function toJson({ area, conditions }: Examined): JsonObject[] {
  return conditions.map(({ state, subject, found, advice }) => ({
    area,
    subject,
    state,
    found,
    ...(advice !== undefined && { advice }),
  }));
}

const widestState = 'problem'.length;

function areaText({ area, conditions }: Examined): string {
  const lines = conditions.flatMap(({ state, subject, found, advice }) => {
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

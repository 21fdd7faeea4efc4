import type { Command } from 'commander';
import type { DiagnosedArea } from '../../app/diagnostics/areas.ts';
import type { PartialConfig } from '../../config/config.ts';
import { ConfigError, type Finding, sourceText } from '../../config/reader/finding.ts';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { type LocalFlags, localCommand } from '../flags.ts';
import { StepProgress } from '../terminal/status-bar.ts';
import { stateColored } from '../terminal/table.ts';
import { printable, printData, printJson, printStatus } from '../terminal/terminal.ts';

export function doctorCommand(): Command {
  return localCommand('doctor', 'Check all that the server needs, with advice for each problem.').action(
    doctor,
  );
}

async function doctor(flags: LocalFlags): Promise<void> {
  const diagnosed = await diagnoseAll(flags);
  const diagnostics = diagnosed.flatMap((area) => area.diagnostics);
  const count = (state: Diagnostic['state']) => diagnostics.filter((found) => found.state === state).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (flags.json) {
    const checks = diagnosed.flatMap(({ area, diagnostics }) => diagnostics.map((one) => ({ area, ...one })));
    await printJson({ problems, warnings, checks });
  } else {
    await printData(diagnosed.map(areaText).join('\n'));
    printStatus(summary(problems, warnings));
  }
  if (problems > 0) process.exitCode = 1;
}

async function diagnoseAll(flags: LocalFlags): Promise<DiagnosedArea[]> {
  const { loadWithFlags, loadValidWithFlags } = await import('../configuration.ts');
  const area = 'configuration';
  try {
    const { config, file = 'The configuration (without a parley.yaml)', warnings } = loadWithFlags(flags);
    const ignored = warnings.map((found) => warning('settings', found, 'Remove it where it is set.'));
    const diagnostics = [ok('settings', `${file} is valid.`), ...ignored];
    return [{ area, diagnostics }, ...(await diagnose({ config, leftOut: [] }))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const diagnostics = error.findings.map(toDiagnostic);
    return [{ area, diagnostics }, ...(await diagnose(loadValidWithFlags(flags)))];
  }
}

async function diagnose(valid: PartialConfig | undefined): Promise<DiagnosedArea[]> {
  // Loaded on demand, as this module takes longest to load.
  const { diagnoseAreas, notChecked } = await import('../../app/diagnostics/areas.ts');
  if (valid === undefined) return [notChecked('everything else')];
  const { config, leftOut } = valid;
  const { readServerFile } = await import('../client/server-file.ts');
  const { diagnosePorts } = await import('./doctor/ports.ts');
  const progress = new StepProgress('rows');
  return diagnoseAreas(config, {
    pid: readServerFile(config.dataDir)?.pid,
    leftOut,
    ports: (signal) => diagnosePorts(config, signal),
    onStep: (what) => progress.shortStep(`checking: ${what}`),
  }).finally(() => progress.close());
}

function toDiagnostic({ source, message, suggestion, advice = 'Correct it there.' }: Finding): Diagnostic {
  const next = suggestion === undefined ? advice : `Did you mean \`${suggestion}\`?`;
  return problem(sourceText(source), message, next);
}

const widestState = 'problem'.length;

function areaText({ area, diagnostics }: DiagnosedArea): string {
  const lines = diagnostics.flatMap(({ state, subject, found, advice }) => {
    const line = `  ${stateColored(state)}${' '.repeat(widestState - state.length)}  ${printable(`${subject}: ${found}`)}`;
    return advice === undefined ? [line] : [line, `${' '.repeat(widestState + 4)}${printable(advice)}`];
  });
  return [printable(area), ...lines].map((line) => `${line}\n`).join('');
}

function summary(problems: number, warnings: number): string {
  if (problems + warnings === 0) return 'All is well.';
  const counted = (count: number, what: string) => (count === 1 ? `1 ${what}` : `${count} ${what}s`);
  return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}

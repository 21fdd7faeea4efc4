import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { findExecutable } from '../../files/executable.ts';
import { type Diagnosis, voicesDiagnostic } from '../diagnostics.ts';

interface DiagnosedSettings {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  readonly voices: Readonly<Record<string, string>>;
}

/** The part of the server that its programs share. */
interface Surroundings {
  readonly environment: Readonly<Record<string, string>>;
  /** Memory for all programs together. */
  readonly memoryBytesMax: number;
}

const mebibyte = 1024 ** 2;
const shell = '/bin/sh';

/** Checks command and memory. Does not start the program. */
export function diagnoseProcess(
  settings: DiagnosedSettings,
  surroundings: Surroundings,
  { models }: Diagnosis,
): Diagnostic[] {
  const speech = models.filter(({ type }) => type === 'speech');
  return [
    diagnoseCommand(settings, surroundings),
    diagnoseMemory(settings.memoryBytes, surroundings.memoryBytesMax),
    ...speech.map((model) => voicesDiagnostic(model, Object.keys(settings.voices))),
  ];
}

function diagnoseCommand(
  { command: [program = ''], env }: DiagnosedSettings,
  { environment }: Surroundings,
): Diagnostic {
  if (findExecutable(shell, '') === undefined) {
    const found = `There is no ${shell}, which starts programs.`;
    return problem('command', found, 'Use an image that has a shell.');
  }
  const { PATH = '' } = { ...environment, ...env };
  const found = findExecutable(program, PATH);
  if (found !== undefined) return ok('command', `${found} can be executed.`);
  const where = program.includes('/') ? 'is no executable file' : `is in no folder of PATH (${PATH})`;
  return problem('command', `${program} ${where}.`, 'Install it, or correct `command` of the engine.');
}

function diagnoseMemory(bytes: number, bytesMax: number): Diagnostic {
  const [needed, allowed] = [bytes, bytesMax].map((size) => `${Math.round(size / mebibyte)} MiB`);
  if (bytes <= bytesMax) return ok('memory', `It needs ${needed} of the ${allowed} for all programs.`);
  const found = `It needs ${needed}, more than the ${allowed} for all programs, so it is never started.`;
  return problem('memory', found, 'Raise `programs.memoryBytesMax`, or choose a smaller model.');
}

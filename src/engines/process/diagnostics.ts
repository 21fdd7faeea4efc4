import { accessSync, constants } from 'node:fs';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { findExecutable } from '../../files/executable.ts';
import { nearestFolder } from '../../files/folders.ts';
import { fileReason } from '../../files/reason.ts';
import { socketPath, socketPathBytesMax } from '../../files/socket-path.ts';
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
  readonly socketDir: string;
}

const mebibyte = 1024 ** 2;
const shell = '/bin/sh';
/** The longest number of a process on Linux, and more starts of engines than a server has. */
const [pidMax, numberMax] = [4_194_304, 999];

/** Checks command, memory and the folder of the socket. Does not start the program. */
export function diagnoseProcess(
  settings: DiagnosedSettings,
  surroundings: Surroundings,
  { name, models }: Diagnosis,
): Diagnostic[] {
  const texts = [...settings.command, ...Object.values(settings.env)];
  const hasSocket = texts.some((text) => text.includes('{socket}'));
  const speech = models.filter(({ type }) => type === 'speech');
  return [
    diagnoseCommand(settings, surroundings),
    diagnoseMemory(settings.memoryBytes, surroundings.memoryBytesMax),
    ...(hasSocket ? [diagnoseSocketDir(name, surroundings.socketDir)] : []),
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

function diagnoseSocketDir(name: string, folder: string): Diagnostic {
  const bytes = Buffer.byteLength(socketPath(folder, name, pidMax, numberMax));
  const advice = 'Choose another folder with `programs.socketDir`.';
  if (bytes > socketPathBytesMax) {
    const found = `The path of a socket in ${folder} has up to ${bytes} bytes; the system allows ${socketPathBytesMax}.`;
    return problem('socket folder', found, advice);
  }
  const nearest = nearestFolder(folder);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    return ok('socket folder', `${folder} ${nearest === folder ? 'is writable' : 'can be created'}.`);
  } catch (error) {
    return problem('socket folder', `${nearest} is not writable (${fileReason(error)}).`, advice);
  }
}

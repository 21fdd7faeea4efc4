/** Runs the commands of a page as a person would: in a shell, with a separate home. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const project = new URL('../..', import.meta.url).pathname;
const timeoutMsDefault = 300_000;

interface ShellOptions {
  /** Default: the folder of the project. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** The arguments after the command, as `"$@"`. */
  readonly args?: readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export async function shell(
  command: string,
  { cwd = project, env, args = [], timeoutMs = timeoutMsDefault }: ShellOptions,
): Promise<Ended> {
  const child = spawn('/bin/sh', ['-ec', `${command} "$@"`, 'sh', ...args], {
    cwd,
    // In a new home npm asks its registry for a newer npm. Java reads its arguments and writes its output in the
    // character set of the locale.
    env: { ...process.env, LC_ALL: 'C.UTF-8', npm_config_update_notifier: 'false', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
  });
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** Runs a step that must not fail. */
export async function mustRun(command: string, options: ShellOptions): Promise<void> {
  const { code, stdout, stderr } = await shell(command, options);
  if (code !== 0) throw new Error(`${command}\nended with ${code}:\n${stdout}${stderr}`);
}

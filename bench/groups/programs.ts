/** Runs programs of the system as an operator would, and measures their time and CPU. */
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

export interface ProgramRun {
  /** Time to the first byte on standard output; NaN without output. */
  readonly firstByteMs: number;
  readonly totalMs: number;
  /** CPU of the shell and all its descendants. */
  readonly cpuMs: number;
  readonly output: Buffer;
}

/** Runs a line of Bash, which reports CPU in milliseconds. Throws where any command of a pipe fails. */
export async function runShell(line: string, env: Readonly<Record<string, string>>): Promise<ProgramRun> {
  const options: SpawnOptions = {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  };
  const startedAt = performance.now();
  const child = spawn('bash', ['-c', `set -o pipefail; ${line}; code=$?; times >&3; exit $code`], options);
  const ended = once(child, 'exit');
  const times = text(child.stdio[3] as Readable);
  const pieces: Buffer[] = [];
  let firstByteMs = Number.NaN;
  for await (const piece of child.stdout as AsyncIterable<Buffer>) {
    if (pieces.length === 0) firstByteMs = performance.now() - startedAt;
    pieces.push(piece);
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`\`${line}\` exited with ${code}`);
  const totalMs = performance.now() - startedAt;
  return { firstByteMs, totalMs, cpuMs: cpuMsIn(await times), output: Buffer.concat(pieces) };
}

/** Adds the four times that `times` prints: user and system, of the shell and of its children, such as `0m1.234s`. */
function cpuMsIn(times: string): number {
  return [...times.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000,
    0,
  );
}

/** Decodes a file to measure its length. */
export function audioSeconds(file: Buffer, format: string): number {
  // Raw samples have no header.
  const input = format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : [];
  const args = ['-v', 'error', ...input, '-i', 'pipe:0', '-f', 's16le', '-ar', '16000', '-ac', '1', 'pipe:1'];
  const { stdout } = spawnSync('ffmpeg', args, { input: file, maxBuffer: 2 ** 30 });
  return stdout.length / 2 / 16_000;
}

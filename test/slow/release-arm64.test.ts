/** The executable for arm64, built here and run by QEMU. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { missingPrograms } from '../support/audio-files.ts';
import { buildExecutable, buildMsMax } from '../support/built-executable.ts';
import { ended, scratchFolder, until } from '../support/command-line.ts';
import { notNow } from '../support/tier.ts';

const libraries = '/usr/aarch64-linux-gnu';
const missing =
  notNow ??
  (process.arch === 'arm64'
    ? 'this machine is one'
    : (missingPrograms('qemu-aarch64-static', 'aarch64-linux-gnu-strip') ??
      (existsSync(`${libraries}/lib/libstdc++.so.6`)
        ? undefined
        : 'libstdc++6-arm64-cross is not installed')));
if (missing !== undefined) process.stderr.write(`NOT TESTED: the executable for arm64 (${missing})\n`);

describe.skipIf(missing !== undefined)(`the executable for arm64 ${missing ?? ''}`, () => {
  const folder = scratchFolder();
  const executable = folder.file('parley');
  const command = ['-L', libraries, executable];
  // QEMU cannot start a program again in the same process.
  const env = { PATH: process.env['PATH'], MALLOC_TRIM_THRESHOLD_: '131072' };
  beforeAll(() => buildExecutable(executable, 'arm64'), buildMsMax);
  afterAll(() => folder.remove());

  it('is a program for that processor, and prints its version', () => {
    // The number of the processor in the header of an ELF file: 183 is AArch64.
    expect(readFileSync(executable).readUInt16LE(18)).toBe(183);
    const { stdout } = spawnSync('qemu-aarch64-static', [...command, '--version'], { encoding: 'utf8', env });
    expect(stdout).toMatch(/^schema \d+/m);
  });

  it('serves, and speaks', async () => {
    const dataDir = folder.file('data');
    const server = spawn(
      'qemu-aarch64-static',
      [...command, 'serve', '--demo', '--port', '0', '--data-dir', dataDir],
      { cwd: folder.path, env },
    );
    const end = ended(server);
    onTestFinished(() => void server.kill('SIGKILL'));
    // It is written last.
    await until(() => server.exitCode !== null || existsSync(`${dataDir}/first-run.json`), buildMsMax);
    const { baseUrl } = JSON.parse(readFileSync(`${dataDir}/server.json`, 'utf8')) as { baseUrl: string };
    const { apiKey } = JSON.parse(readFileSync(`${dataDir}/first-run.json`, 'utf8')) as { apiKey: string };
    const answer = await fetch(`${baseUrl}/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'flite', input: 'Yes.', voice: 'slt', response_format: 'wav' }),
    });
    expect(answer.status).toBe(200);
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(5_000);
    server.kill('SIGTERM');
    expect((await end).code).toBe(0);
  });
});

/** The commands that a first start prints work when copied, also with a self-signed certificate. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import {
  ended,
  type Folder,
  noTerminal,
  scratchFolder,
  serveAtTerminal,
  shellCommand,
} from '../support/command-line.ts';

const noCurl = spawnSync('curl', ['--version']).error && 'curl is not installed';
const why = noCurl ? ` (skipped: ${noCurl})` : '';

describe.skipIf(noTerminal)('the commands of a first start with a self-signed certificate', () => {
  let folder: Folder;
  beforeEach(() => {
    folder = scratchFolder();
    const { cert, key } = makeCertificate('localhost');
    writeFileSync(folder.file('cert.pem'), cert);
    writeFileSync(folder.file('key.pem'), key);
    writeFileSync(folder.file('parley.yaml'), 'tls: {cert: cert.pem, key: key.pem}\n');
    // Printed commands call the program of a clone.
    writeFileSync(folder.file('parley'), `#!/bin/sh\n${programLine()}\n`);
    chmodSync(folder.file('parley'), 0o755);
    mkdirSync(folder.file('bin'));
  });
  afterEach(() => folder.remove());

  /** Runs all printed commands one after the other. The first writes `hello.mp3`. */
  async function runPrinted(env: Readonly<Record<string, string>>) {
    const server = await serveAtTerminal(['--demo'], { cwd: folder.path, env });
    const commands = [...server.shown.matchAll(/^ {5}(\S.*)$/gm)].map(([, command = '']) => command);
    const results = [];
    for (const command of commands) {
      const child = spawn('/bin/sh', ['-c', command], { cwd: folder.path });
      const { code, stdout, stderr } = await ended(child);
      results.push({ code, stdout, stderr });
    }
    await server.close();
    return { commands, results };
  }

  it.skipIf(noCurl)(`work by curl${why}`, async () => {
    const { commands, results } = await runPrinted({});
    expect(commands.length).toBeGreaterThan(1);
    for (const command of commands) expect(command).toMatch(/^curl --cacert 'cert\.pem' 'https:/);
    expect(results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(commands.map(() => 0));
    expect(existsSync(folder.file('hello.mp3'))).toBe(true);
    expect(results.at(-1)?.stdout).toContain('data: [DONE]');
  });

  it('work by the command line of Parley, where there is no curl', async () => {
    const { commands, results } = await runPrinted({ PATH: folder.file('bin') });
    expect(commands.length).toBeGreaterThan(1);
    for (const command of commands) expect(command).toMatch(/^NODE_EXTRA_CA_CERTS='cert\.pem' \.\/parley /);
    expect(results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(commands.map(() => 0));
    expect(existsSync(folder.file('hello.mp3'))).toBe(true);
    expect(results.at(-1)?.stdout).toMatch(/\w/);
  });
});

/** A line of the shell that runs the program under test. */
function programLine(): string {
  const { args } = shellCommand('', [], {});
  return `exec ${args
    .slice(3)
    .map((word) => `'${word}'`)
    .join(' ')} "$@"`;
}

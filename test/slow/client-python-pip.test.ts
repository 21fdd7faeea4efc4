/** The Python page with grpcio-tools from PyPI, whose compiler and library are years newer than those of Debian 12. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { schemaArchive } from '../../scripts/console/files.mjs';
import { readPage } from '../clients/page.ts';
import { mustRun, shell } from '../clients/shell.ts';
import { play, playingEngines } from '../conformance/play.ts';
import { startParley } from '../support/parley.ts';
import { installPython } from './clients/install-python.ts';

const installed = await installPython('grpc-tools', 10);
const missing = 'missing' in installed ? installed.missing : undefined;

it.skipIf(missing !== undefined)(`docs/clients/python.md with grpcio-tools ${missing ?? ''}`, async () => {
  if ('missing' in installed) throw new Error(installed.missing);
  const home = mkdtempSync(join(tmpdir(), 'parley-grpc-tools-'));
  const pages = new Map([['docs/parley-proto.tar.gz', schemaArchive()]]);
  const parley = await startParley({ engines: playingEngines(), pages });
  const env = {
    HOME: home,
    PATH: `${installed.folder}/venv/bin:${process.env['PATH']}`,
    PARLEY_BASE_URL: new URL(parley.baseUrl).origin,
    PARLEY_API_KEY: parley.apiKey,
  };
  const { command } = readPage('python');
  for (const step of ['take', 'schemas', 'grpc-tools']) await mustRun(command(step), { env });
  const [program = ''] = command('run').split(' speak ');
  const run = (...args: string[]) => shell(program, { cwd: join(home, 'client'), env, args });
  expect(await run('models')).toEqual({ code: 0, stdout: 'flite\npocketsphinx\neliza\n', stderr: '' });
  const failed = await run('chat', play('say one', 'fail upstream_error 429 7'));
  expect(failed.stderr).toMatch(/^upstream_error: .+ Try again in 7 s\.$/m);
  await parley.close();
  rmSync(home, { recursive: true });
});

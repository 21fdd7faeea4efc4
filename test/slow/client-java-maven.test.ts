/** The Java page with libraries from Maven Central, which are years newer than those of Debian 12. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { schemaArchive } from '../../scripts/console/files.mjs';
import { readPage } from '../clients/page.ts';
import { mustRun, shell } from '../clients/shell.ts';
import { play, playingEngines } from '../conformance/play.ts';
import { missingPrograms } from '../support/audio-files.ts';
import { startParley } from '../support/parley.ts';
import { scratchPath } from '../support/scratch-path.ts';
import { installClient, installMsMax } from './clients/cache.ts';

const { command, file } = readPage('java');
const home = scratchPath('maven');

async function installLibraries() {
  const missing = missingPrograms('mvn', 'javac', 'protoc', 'grpc_java_plugin');
  if (missing !== undefined) {
    process.stderr.write(`NOT TESTED: docs/clients/java.md with Maven (${missing})\n`);
    return { missing };
  }
  const source = join(home, 'maven');
  mkdirSync(source);
  writeFileSync(join(source, 'pom.xml'), file('pom.xml'));
  return installClient(source, 'pom.xml', (cwd) =>
    mustRun(command('maven'), { cwd, timeoutMs: installMsMax }),
  );
}

const installed = await installLibraries();
const missing = 'missing' in installed ? installed.missing : undefined;

it.skipIf(missing !== undefined)(`docs/clients/java.md with Maven's libraries ${missing ?? ''}`, async () => {
  if ('missing' in installed) throw new Error(installed.missing);
  const pages = new Map([['docs/parley-proto.tar.gz', schemaArchive()]]);
  const parley = await startParley({ engines: playingEngines(), pages });
  const env = { HOME: home, PARLEY_BASE_URL: new URL(parley.baseUrl).origin, PARLEY_API_KEY: parley.apiKey };
  const cwd = join(home, 'client');
  for (const step of ['take', 'schemas', 'protoc']) await mustRun(command(step), { env });
  cpSync(join(installed.folder, 'jars'), join(cwd, 'jars'), { recursive: true });
  await mustRun([command('maven-libraries'), command('build')].join('\n'), { cwd, env });
  const [program = ''] = command('run').split(' speak ');
  const run = (...args: string[]) =>
    shell([command('maven-libraries'), program].join('\n'), { cwd, env, args });
  expect(await run('models')).toMatchObject({ code: 0, stdout: 'flite\npocketsphinx\neliza\n' });
  const failed = await run('chat', play('say one', 'fail upstream_error 429 7'));
  expect(failed.stderr).toMatch(/^upstream_error: .+ Try again in 7 s\.$/m);
  await parley.close();
});

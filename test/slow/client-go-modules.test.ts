/** The Go page with modules from Go's module proxy, which are years newer than the packages of Debian 12. */
import { spawnSync } from 'node:child_process';
import { readPage } from '../clients/page.ts';
import { describeClientProgram, generateCode } from '../clients/program.ts';
import { mustRun, shell } from '../clients/shell.ts';
import { missingPrograms } from '../support/audio-files.ts';
import { scratchPath } from '../support/scratch-path.ts';
import { installMsMax } from './clients/cache.ts';

const { command } = readPage('go');
const generatorsHome = scratchPath('go-generators');

/** Go keeps what it has fetched and compiled below the home of whoever runs the tests, not below that of the page. */
function goCaches() {
  const names = ['GOMODCACHE', 'GOCACHE'];
  const { stdout } = spawnSync('go', ['env', ...names], { encoding: 'utf8' });
  const folders = stdout.split('\n');
  return Object.fromEntries(names.map((name, at) => [name, folders[at] ?? '']));
}

async function installGenerators(): Promise<string | undefined> {
  const programs = missingPrograms('go', 'protoc');
  if (programs !== undefined) return programs;
  const env = { ...goCaches(), HOME: generatorsHome };
  const { code, stderr } = await shell(command('generators'), { env, timeoutMs: installMsMax });
  return code === 0 ? undefined : `the generators cannot be installed: ${stderr.trim().split('\n').at(-1)}`;
}

describeClientProgram({
  page: 'go',
  install: 'generators',
  missing: await installGenerators(),
  async build(home, generating) {
    const PATH = `${generatorsHome}/go/bin:${process.env['PATH']}`;
    await generateCode('go', { ...generating, PATH });
    const env = { ...goCaches(), HOME: home };
    await mustRun([command('modules'), command('build'), 'go vet client.go'].join('\n'), {
      env,
      timeoutMs: installMsMax,
    });
  },
});

/** What a release needs before it is made, and the facts that its files repeat. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { imageSettings } from '../../scripts/release/image.mjs';
import { refusalOf } from '../../scripts/release/version.mjs';

const text = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const { version } = JSON.parse(text('package.json')) as { version: string };

describe('a release', () => {
  const ready = {
    version: '1.2.3',
    packageVersion: '1.2.3',
    changelog: '# C\n\n## [1.2.3] - 2027-01-01\n',
    changed: '',
  };

  it('is made of a clean commit whose version is in package.json and in the changelog', () => {
    expect(refusalOf(ready)).toBeUndefined();
  });

  it.each([
    [{ version: 'next' }, /Name the version/],
    [{ version: '' }, /Name the version/],
    [{ packageVersion: '1.2.2' }, /package\.json has version 1\.2\.2/],
    [{ changelog: '# C\n\n## [1.2.30]\n' }, /CHANGELOG\.md has no section "## \[1\.2\.3\]"/],
    [{ changed: ' M src/main.ts' }, /differ from the commit.*\n M src\/main\.ts/],
  ])('is refused otherwise: %o', (flaw, refusal) => {
    expect(refusalOf({ ...ready, ...flaw })).toMatch(refusal);
  });

  it('is refused by the command, with its reason', () => {
    const script = new URL('../../scripts/release.mjs', import.meta.url).pathname;
    const { status, stderr } = spawnSync(process.execPath, [script, '0.0.9'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      1,
      `setup: package.json has version ${version}: change it to 0.0.9 first.\n`,
    ]);
  });
});

it('the changelog has the version of package.json', () => {
  expect(text('CHANGELOG.md')).toMatch(new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\]`, 'm'));
});

it('the image of a release has the settings of the Dockerfile', () => {
  const dockerfile = text('deploy/Dockerfile');
  const [, last = ''] = dockerfile.split('FROM debian');
  const { User, WorkingDir, Env, Healthcheck, StopSignal, Entrypoint, Cmd } = imageSettings;
  for (const line of [
    `USER ${User}`,
    `WORKDIR ${WorkingDir}`,
    `STOPSIGNAL ${StopSignal}`,
    `ENTRYPOINT ${JSON.stringify(Entrypoint)}`,
    `CMD ${JSON.stringify(Cmd)}`,
    'HEALTHCHECK --interval=30s --timeout=6s --start-period=60s --retries=3 CMD ["parley", "health"]',
  ])
    expect(last).toContain(`\n${line}\n`);
  for (const variable of Env.filter((one) => !one.startsWith('PATH='))) expect(last).toContain(variable);
  expect(Healthcheck).toMatchObject({ Test: ['CMD', 'parley', 'health'], Retries: 3 });
});

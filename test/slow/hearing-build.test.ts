/** The build of hearing gives the same bytes as set-up, without a network and from local sources. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sourcesIn } from '../../scripts/hearing/sources.mjs';
import { cacheFolder } from '../../scripts/setup/hearing.mjs';
import { hearingFolder, missingHearing } from '../../src/media/hearing-files.ts';
import { ended, scratchFolder } from '../support/command-line.ts';

const buildMsMax = 900_000;

const downloads = join(cacheFolder(), 'sources');
const reason =
  missingHearing() ??
  (hasItsSources() ? undefined : `its sources are not in ${downloads}`) ??
  (spawnSync('dpkg-source', ['--version']).status === 0 ? undefined : 'not installed: dpkg-source');
function hasItsSources(): boolean {
  const notices = readFileSync(join(hearingFolder, 'notices.md'), 'utf8');
  return sourcesIn(downloads)?.every(({ sha256 }) => notices.includes(sha256)) === true;
}

const hasNamespaces = spawnSync('unshare', ['--net', 'true']).status === 0;

const folder = scratchFolder();
afterAll(() => folder.remove());

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe.skipIf(reason !== undefined)(`hearing${reason === undefined ? '' : `: ${reason}`}`, () => {
  it('is identical if built in another folder without a network', { timeout: buildMsMax }, async () => {
    const work = folder.file('work');
    mkdirSync(work);
    const scripts = new URL('../../scripts/hearing/', import.meta.url).href;
    const [from, to] = [JSON.stringify(downloads), JSON.stringify(work)];
    const script = `
      import { compile } from '${scripts}compile.mjs';
      import { sourcesIn } from '${scripts}sources.mjs';
      await compile(${from}, sourcesIn(${from}), ${to});`;
    const node = [process.execPath, '--input-type=module', '--eval', script];
    const command = hasNamespaces ? ['unshare', '--net', ...node] : node;
    const { code, stderr } = await ended(spawn(command[0] ?? '', command.slice(1)));
    expect([code, stderr]).toEqual([0, '']);
    const built = join(work, 'built');
    expect(readdirSync(built).sort()).toEqual([
      'decoder.wasm',
      'lame.wasm',
      'notices.md',
      'recogniser.image',
      'recogniser.wasm',
      'resampler.wasm',
    ]);
    for (const name of readdirSync(built))
      expect([name, digest(join(built, name))]).toEqual([name, digest(join(hearingFolder, name))]);
  });
});

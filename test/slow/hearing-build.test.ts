/** The build of hearing gives the same bytes as set-up, without a network and from local sources. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Part, parts, sourcesIn } from '../../scripts/hearing/sources.mjs';
import { cacheFolder } from '../../scripts/setup/hearing.mjs';
import { hearingFolder, missingHearing } from '../../src/media/hearing-files.ts';
import { ended, scratchFolder } from '../support/command-line.ts';

const buildMsMax = 900_000;

const downloads = (part: Part) => join(cacheFolder(), `${part}-sources`);
const names = ['decoder', 'recogniser'] as const satisfies readonly Part[];
const reason =
  missingHearing() ??
  (names.every(hasItsSources) ? undefined : `its sources are not in ${cacheFolder()}`) ??
  (spawnSync('dpkg-source', ['--version']).status === 0 ? undefined : 'not installed: dpkg-source');
function hasItsSources(part: Part): boolean {
  const notices = join(hearingFolder, `${part}-notices.md`);
  if (!existsSync(notices)) return false;
  const text = readFileSync(notices, 'utf8');
  return sourcesIn(downloads(part), part)?.every(({ sha256 }) => text.includes(sha256)) === true;
}

const hasNamespaces = spawnSync('unshare', ['--net', 'true']).status === 0;

const folder = scratchFolder();
afterAll(() => folder.remove());

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe.skipIf(reason !== undefined)(`hearing${reason === undefined ? '' : `: ${reason}`}`, () => {
  it.each(names)(
    'has the same %s if built in another folder without a network',
    async (part) => {
      const work = folder.file(part);
      mkdirSync(work);
      const scripts = new URL('../../scripts/hearing/', import.meta.url).href;
      const [name, from, to] = [part, downloads(part), work].map((one) => JSON.stringify(one));
      const script = `
      import { compile } from '${scripts}compile.mjs';
      import { sourcesIn } from '${scripts}sources.mjs';
      await compile(${name}, ${from}, sourcesIn(${from}, ${name}), ${to});`;
      const node = [process.execPath, '--input-type=module', '--eval', script];
      const command = hasNamespaces ? ['unshare', '--net', ...node] : node;
      const { code, stderr } = await ended(spawn(command[0] ?? '', command.slice(1)));
      expect([code, stderr]).toEqual([0, '']);
      const built = join(work, 'built');
      expect(readdirSync(built).sort()).toEqual([...parts[part].files, `${part}-notices.md`].sort());
      for (const file of readdirSync(built))
        expect([file, digest(join(built, file))]).toEqual([file, digest(join(hearingFolder, file))]);
    },
    buildMsMax,
  );
});

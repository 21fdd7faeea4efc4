/** How set-up gets Moonshine: from a folder or a URL that the operator names, by the hash of each file. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { isMoonshineFetched, moonshineCache } from '../../scripts/setup/moonshine.mjs';
import { startHttp } from '../support/http-server.ts';
import { scratchPath } from '../support/scratch-path.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = scratchPath('moonshine');
const names = ['encoder_model.ort', 'decoder_model_merged.ort', 'tokenizer.bin', 'ort.mjs', 'ort.wasm'];
const clone = join(scratch, 'clone');
const cache = join(scratch, 'cache');

/** Runs the part of set-up in a clone without a cache, and without programs that could fetch anything. */
function provide(from: string): Promise<{ stderr: string; there: boolean }> {
  const code = `import('./scripts/setup/moonshine.mjs').then(({ provideMoonshine }) => provideMoonshine())`;
  const env = { PATH: '/nowhere', XDG_CACHE_HOME: cache, SETUP_MOONSHINE: from };
  return new Promise((resolve) => {
    execFile(process.execPath, ['-e', code], { cwd: clone, env }, (_, __, stderr) => {
      resolve({ stderr, there: names.every((name) => existsSync(join(clone, '.moonshine', name))) });
    });
  });
}

beforeEach(() => {
  rmSync(clone, { recursive: true, force: true });
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(clone);
  cpSync(join(root, 'scripts'), join(clone, 'scripts'), { recursive: true });
});

describe('set-up', () => {
  it('fetches nothing if the operator says so', async () => {
    expect(await provide('none')).toEqual({ stderr: '', there: false });
    expect(existsSync(cache)).toBe(false);
  });

  it('refuses files of other content, says what is missing, and does not try again the same day', async () => {
    const folder = join(scratch, 'wrong');
    mkdirSync(folder);
    for (const name of names) writeFileSync(join(folder, name), 'other');
    const { stderr, there } = await provide(folder);
    expect(there).toBe(false);
    expect(stderr).toContain(`Moonshine could not be fetched: ${names.join(', ')} missing.`);
    expect(stderr).toContain('The compiled recogniser transcribes instead');
    expect((await provide(folder)).stderr).toBe('');
  });

  it('says that a server does not have the files', async () => {
    const server = await startHttp((_, response) => response.writeHead(404).end());
    const { stderr, there } = await provide(server.origin);
    await server.close();
    expect(there).toBe(false);
    expect(stderr).toContain(`${server.origin}: it answers 404`);
  });
});

const missing = isMoonshineFetched() ? '' : ': set-up could not fetch Moonshine';

describe.skipIf(missing !== '')(`set-up, with the files that it could fetch${missing}`, () => {
  it('takes them from a folder', async () => {
    expect((await provide(moonshineCache())).there).toBe(true);
  });

  it('continues a download that has broken', async () => {
    const ranges: (string | undefined)[] = [];
    const server = await startHttp(({ url = '', headers: { range } }, response) => {
      const content = readFileSync(join(moonshineCache(), basename(url)));
      if (basename(url) === 'encoder_model.ort') ranges.push(range);
      if (range !== undefined) {
        response.writeHead(206).end(content.subarray(Number(/\d+/.exec(range))));
      } else if (basename(url) === 'encoder_model.ort') {
        response.writeHead(200, { 'content-length': content.length });
        response.write(content.subarray(0, 1_000_000), () => response.destroy());
      } else response.end(content);
    });
    expect((await provide(server.origin)).there).toBe(false);
    rmSync(join(clone, '.setup', 'moonshine-failed'));
    expect((await provide(server.origin)).there).toBe(true);
    await server.close();
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=\d+-$/)]);
  });
});

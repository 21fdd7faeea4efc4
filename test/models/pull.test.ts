import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changeModels, type PullOptions, partialOf, pull, remove, verify } from '../../src/models/changes.ts';
import type { ModelManifest } from '../../src/models/manifest.ts';
import { ModelStore, sizeOf } from '../../src/models/model-store.ts';
import { manifestOfUrls } from '../../src/models/new-model.ts';
import { type Folder, scratchFolder } from '../support/command-line.ts';
import { content, manifestOf, sha256, startHostileFiles } from '../support/hostile-files.ts';

const server = await startHostileFiles();
afterAll(() => server.close());

let folder: Folder;
let store: ModelStore;
beforeEach(() => {
  folder = scratchFolder();
  store = new ModelStore(folder.path);
  server.requests.length = 0;
});
afterEach(() => folder.remove());

const urlOf = (trick: string) => `${server.origin}/${trick}`;

function bring(manifest: ModelManifest, options: Partial<PullOptions> = {}) {
  const askLicence = () => Promise.reject(new Error('not accepted'));
  return changeModels(store, () => pull(store, manifest, { retryMs: 1, askLicence, ...options }));
}

const pullFrom = (...tricks: readonly string[]) => bring(manifestOf(tricks.map(urlOf)));

/** The model is there, whole and under its name. */
async function expectPulled() {
  const { folder: path, files } = store.resolve('small');
  expect(files).toEqual([{ name: 'small.gguf', path: join(path, 'small.gguf') }]);
  expect(readFileSync(join(path, 'small.gguf')).equals(content)).toBe(true);
  expect(await verify(store, 'small')).toEqual([]);
  expect(readdirSync(join(store.root, 'partial'))).toEqual([]);
}

function expectNothing() {
  expect(() => store.resolve('small')).toThrow(
    /small\.gguf of the model small is missing\. Run `parley models pull small`/,
  );
  expect(readdirSync(join(store.root, 'blobs'))).toEqual([]);
}

describe('pull', () => {
  it.each([
    ['a good server', 'plain', 1],
    ['a redirect on the same host', 'near', 2],
    ['connections that drop', 'dropped', 3],
    ['HTTP 503', 'flaky', 2],
    ['a server without ranges whose connection drops', 'no-ranges', 2],
  ])('brings a file from %s', async (_, trick, requests) => {
    await expect(pullFrom(trick)).resolves.toEqual({ bytesPulled: content.length });
    await expectPulled();
    expect(server.requests).toHaveLength(requests);
  });

  it.each([
    ['wrong', /sends another file than small\.gguf: its SHA-256 is [0-9a-f]{64}/],
    ['long', /it has more than 4000000 bytes instead of 4000000/],
    ['long-chunked', /it has more than 4000000 bytes instead of 4000000/],
    ['short', /it has 2000000 bytes instead of 4000000/],
    ['short-chunked', /does not send the file \(HTTP 416\)/],
    ['compressed', /compresses the file/],
    ['gone', /does not send the file \(HTTP 404\)/],
    ['closed', /refuses the file \(HTTP 401\)\. Give a token with --token/],
    ['loop', /redirects more than 5 times/],
    ['to-file', /redirects to file:\/\/, which is not https/],
    ['to-http', /redirects to http:\/\/example\.com, which is not https/],
    ['to-private', /redirects to https:\/\/10\.0\.0\.1, which is not a public address/],
    ['to-mapped', /which is not a public address/],
    ['to-name', /localhost is redirected to, but has no public address/],
    ['to-user', /has a user or a password in its URL/],
  ])('refuses the source `%s` at once', async (trick, message) => {
    await expect(pullFrom(trick)).rejects.toThrow(message);
    expectNothing();
    expect(server.requests.length).toBeLessThanOrEqual(6);
  });

  it('gives up after five tries that bring nothing', async () => {
    await expect(pullFrom('busy')).rejects.toThrow(/HTTP 503/);
    expectNothing();
    expect(server.requests).toHaveLength(5);
  });

  it('gives up a source that stops sending, and keeps what has arrived', async () => {
    server.gates.slow = Promise.withResolvers<void>();
    await expect(bring(manifestOf([urlOf('slow')]), { idleMs: 300 })).rejects.toThrow(
      /The connection to 127\.0\.0\.1:\d+ failed|sends nothing/,
    );
    expect(sizeOf(partialOf(store, { sha256 }))).toBeGreaterThan(65_535);
    server.gates.slow.resolve();
    await pullFrom('slow');
    await expectPulled();
  });

  it('ends when it is aborted', async () => {
    server.gates.slow = Promise.withResolvers<void>();
    const abort = new AbortController();
    const pulling = bring(manifestOf([urlOf('slow')]), {
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    await expect(pulling).rejects.toThrow(/aborted/);
    expect(server.requests).toHaveLength(1);
  });

  it('refuses another range than it has asked for', async () => {
    await changeModels(store, async () => undefined);
    writeFileSync(partialOf(store, { sha256 }), content.subarray(0, 1_000_000));
    await expect(pullFrom('wrong-range')).rejects.toThrow(/sends another range than 1000000-/);
    expectNothing();
  });

  it.each(['http://example.com/model.gguf', 'https://user:password@example.com/model.gguf'])(
    'refuses %s',
    async (url) => {
      await expect(bring(manifestOf([url]))).rejects.toThrow(/is not https|has a user or a password/);
    },
  );

  it('tries the next URL of a file, and brings a file of this machine', async () => {
    writeFileSync(folder.file('own.gguf'), content);
    await bring(manifestOf([urlOf('gone'), urlOf('wrong'), pathToFileURL(folder.file('own.gguf')).href]));
    await expectPulled();
  });

  it('says of each URL why it brings nothing, and tries all but the last once', async () => {
    await expect(bring(manifestOf([urlOf('busy'), urlOf('gone'), urlOf('busy')]))).rejects.toThrow(
      /^.+ cannot be brought:\n {2}.*HTTP 503.*\n {2}.*HTTP 404.*\n {2}.*HTTP 503/,
    );
    expectNothing();
    expect(server.requests).toHaveLength(7);
  });

  it('resumes what an earlier pull has left, and begins again if that was of another version', async () => {
    for (const start of [
      content.subarray(0, 1_000_000),
      Buffer.alloc(1_000_000),
      Buffer.alloc(content.length),
    ]) {
      await bring(manifestOf([urlOf('plain')]));
      await changeModels(store, async () => remove(store, 'small'));
      writeFileSync(partialOf(store, { sha256 }), start);
      server.requests.length = 0;
      await pullFrom('plain');
      await expectPulled();
      const ranges = server.requests.map(({ range }) => range);
      if (start.equals(content.subarray(0, 1_000_000))) expect(ranges).toEqual(['bytes=1000000-']);
      else expect(ranges.at(-1)).toBeUndefined();
      await changeModels(store, async () => remove(store, 'small'));
    }
  });

  it('keeps what has arrived when the disk is full', async () => {
    await changeModels(store, async () => undefined);
    symlinkSync('/dev/full', partialOf(store, { sha256 }));
    await expect(pullFrom('plain')).rejects.toThrow(/The disk of .* is full\. What has arrived is kept/);
    expectNothing();
    rmSync(partialOf(store, { sha256 }));
    await pullFrom('plain');
    await expectPulled();
  });

  it('says before the first byte that the disk is too small', async () => {
    const files = Array.from({ length: 1_000 }, (_, at) => ({
      name: `part-${at}.onnx`,
      sha256: at.toString(16).padStart(64, '0'),
      bytes: 2 ** 40,
      urls: [urlOf('plain')],
    }));
    await expect(bring(manifestOf([], { files }))).rejects.toThrow(
      /^small needs 1099511628 MB more, and the disk of .* has \d+ MB\. Nothing was pulled\.$/,
    );
    expect(server.requests).toEqual([]);
  });

  it('gives the token to its host alone', async () => {
    const other = await startHostileFiles();
    const token = { origin: server.origin, value: 'secret' };
    await bring(manifestOf([urlOf('gone'), `${other.origin}/plain`]), { token });
    await other.close();
    expect(server.requests.map(({ authorization }) => authorization)).toEqual(['Bearer secret']);
    expect(other.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it('runs alone', async () => {
    const first = bring(manifestOf([urlOf('slow')]));
    await expect.poll(() => sizeOf(partialOf(store, { sha256 }))).toBeGreaterThan(0);
    await expect(pullFrom('plain')).rejects.toThrow(
      /Another command changes the models in .*\. Wait until it has ended\./,
    );
    server.gates.slow.resolve();
    await first;
    await expectPulled();
  });

  it('asks for a licence that is not permissive, once', async () => {
    const licence = { name: 'LicenseRef-Research-Only', url: 'https://example.com/licence' };
    const manifest = manifestOf([urlOf('plain')], { licence });
    await expect(bring(manifest)).rejects.toThrow('not accepted');
    expect(server.requests).toEqual([]);
    const asked: unknown[] = [];
    const askLicence = async (one: unknown) => void asked.push(one);
    await bring(manifest, { askLicence });
    await bring(manifest, { askLicence });
    expect(asked).toEqual([licence]);
    await expectPulled();
  });
});

describe('manifestOfUrls', () => {
  const facts = { id: undefined, type: undefined, licence: { name: 'MIT' } };
  const manifestOfUrl = (trick: string) =>
    changeModels(store, () => manifestOfUrls(store, [`${urlOf(trick)}/small.gguf`], facts, { retryMs: 1 }));

  it('resumes a file of unknown hash only while its mark stays the same', async () => {
    const manifest = await manifestOfUrl('dropped');
    expect(manifest).toMatchObject({ id: 'small', type: 'chat', runtime: 'llama', files: [{ sha256 }] });
    const ranges = server.requests.map(({ range, ifRange }) => [range, ifRange]);
    expect(ranges.slice(0, 3)).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [expect.stringMatching(/^bytes=\d{6,7}-$/), '"one"'],
    ]);
    await bring(manifest);
    await expectPulled();
    expect(server.requests).toHaveLength(4);
  });

  it('needs the size of the file', async () => {
    await expect(manifestOfUrl('plain-chunked')).rejects.toThrow(/does not report the size of its file/);
  });
});

describe('verify', () => {
  it('finds files of equal size that were exchanged, and pull repairs them', async () => {
    const other = Buffer.from(content).reverse();
    writeFileSync(folder.file('one'), content);
    writeFileSync(folder.file('other'), other);
    const { createHash } = await import('node:crypto');
    const fileOf = (name: string, path: string, bytes: Buffer) => ({
      name,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes: bytes.length,
      urls: [pathToFileURL(path).href],
    });
    const files = [
      fileOf('a/encoder.onnx', folder.file('one'), content),
      fileOf('decoder.onnx', folder.file('other'), other),
    ];
    const manifest = manifestOf([], { type: 'transcription', runtime: 'sherpa', files });
    await bring(manifest);
    expect(await verify(store, 'small')).toEqual([]);
    const [one, two] = files.map((file) => store.blob(file));
    writeFileSync(String(one), other);
    writeFileSync(String(two), content);
    expect(store.resolve('small').files).toHaveLength(2);
    expect(await verify(store, 'small')).toEqual([
      { name: 'a/encoder.onnx', flaw: 'content' },
      { name: 'decoder.onnx', flaw: 'content' },
    ]);
    await bring(manifest);
    expect(await verify(store, 'small')).toEqual([]);
    writeFileSync(String(one), 'short');
    rmSync(String(two));
    expect((await verify(store, 'small')).map(({ flaw }) => flaw)).toEqual(['size', 'missing']);
    expect(() => store.resolve('small')).toThrow(
      /a\/encoder\.onnx of the model small has 5 bytes instead of 4000000/,
    );
  });
});

describe('a manifest', () => {
  const fileOf = (name: string) => ({ name, sha256, bytes: 1, urls: ['https://a/'] });

  it.each([
    [{ files: [fileOf('../../x')] }, /not valid at `files\.0\.name`/],
    [{ files: [fileOf('a/../x')] }, /not valid at `files\.0\.name`/],
    [{ files: [fileOf('/x')] }, /not valid at `files\.0\.name`/],
    [
      { files: [{ name: 'x', sha256: '../x', bytes: 1, urls: ['https://a/'] }] },
      /not valid at `files\.0\.sha256`/,
    ],
    [{ files: [{ name: 'x', sha256, bytes: 1, urls: ['ftp://a/'] }] }, /not valid at `files\.0\.urls\.0`/],
    [{ files: ['x', 'x'].map(fileOf) }, /not valid at `files`: files of different names/],
    [{ files: ['x/y/z', 'x'].map(fileOf) }, /not valid at `files`: files of different names/],
    [{ id: '../small' }, /not valid at `id`/],
    [{ more: 1 }, /not valid at `the whole`/],
  ])('with %j is refused', (changes, message) => {
    mkdirSync(join(store.root, 'manifests'), { recursive: true });
    writeFileSync(
      store.manifestFile('small'),
      JSON.stringify({ ...manifestOf([urlOf('plain')]), ...changes }),
    );
    expect(() => store.manifest('small')).toThrow(message);
  });

  it('must have the id of its file, and ids lead nowhere else', () => {
    mkdirSync(join(store.root, 'manifests'), { recursive: true });
    writeFileSync(store.manifestFile('other'), JSON.stringify(manifestOf([urlOf('plain')])));
    expect(() => store.manifest('other')).toThrow(/has another id, small/);
    expect(() => store.manifest('../other')).toThrow(/is not the id of a model/);
    expect(existsSync(store.root)).toBe(true);
  });
});

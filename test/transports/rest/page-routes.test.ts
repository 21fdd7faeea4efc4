/** The files of the reference, for a client that is not a browser. */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../../scripts/console/files.mjs';
import { readDocument } from '../../support/api-document.ts';
import { errorOf, startParley } from '../../support/parley.ts';

const pages = new Map(Object.entries(await consoleFiles()));
const parley = await startParley({ pages });
const origin = new URL(parley.baseUrl).origin;
afterAll(() => parley.close());

/** The options by which generated code has the same names in each language. */
function expectedOptions(file: string): string[] {
  const [, subject = '', , name = ''] = file.replace('.proto', '').split('/');
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  const room = capital(subject);
  return [
    `option csharp_namespace = "Parley.${room}.V1";`,
    `option go_package = "parley.example/${subject}/v1;${subject}v1";`,
    'option java_multiple_files = true;',
    `option java_outer_classname = "${name.split('_').map(capital).join('')}Proto";`,
    `option java_package = "com.parley.${subject}.v1";`,
    `option objc_class_prefix = "Parley${room}";`,
    `option php_namespace = "Parley\\\\${room}\\\\V1";`,
    `option ruby_package = "Parley::${room}::V1";`,
  ];
}

describe('GET /api/v1/openapi.json', () => {
  it('is the document, without a key', async () => {
    const response = await fetch(`${parley.baseUrl}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual(readDocument());
  });

  it('is compressed for clients that take it', async () => {
    const plain = await fetch(`${parley.baseUrl}/openapi.json`, {
      headers: { 'accept-encoding': 'identity' },
    });
    const packed = await fetch(`${parley.baseUrl}/openapi.json`, { headers: { 'accept-encoding': 'gzip' } });
    const refused = await fetch(`${parley.baseUrl}/openapi.json`, {
      headers: { 'accept-encoding': 'gzip;q=0' },
    });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(refused.headers.get('content-encoding')).toBeNull();
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(Number(packed.headers.get('content-length'))).toBeLessThan(
      Number(plain.headers.get('content-length')) / 5,
    );
    expect(await packed.json()).toEqual(await plain.json());
    for (const response of [plain, packed]) expect(response.headers.get('vary')).toBe('accept-encoding');
  });
});

describe('/console', () => {
  it.each([
    ...[
      '/console',
      '/console/',
      '/console/usage',
      '/console/keys',
      '/console/credits',
      '/console/credits/statement',
      '/console/models',
      '/console/server',
      '/console/invitation',
    ],
    ...['/console/playground', '/console/playground/speech', '/console/playground/transcription'],
    ...['/console/playground/live', '/console/playground/conversation'],
    ...['/console/accounts', '/console/accounts/acme', '/console/accounts/acme/statement', '/console/audit'],
  ])('%s is a page that may load only its own files', async (path) => {
    const response = await fetch(origin + path);
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).toMatch(/src="\/console\/assets\/main-[0-9A-Z]{8}\.js"/);
  });

  it('is small: the page first loads at most 120 KB, and later no more than that', () => {
    const sizeOf = (pattern: RegExp) => {
      const found = [...pages].filter(([name]) => pattern.test(name));
      expect(found.length).toBeGreaterThan(0);
      return found.reduce((sum, [, { length }]) => sum + length, 0);
    };
    expect(sizeOf(/^console\/assets\/(main|console|chunk)-.*\.gz$|^console\/index\.html$/)).toBeLessThan(
      120 * 1024,
    );
    expect(sizeOf(/^console\/assets\/(?!main|console|chunk).*\.gz$/)).toBeLessThan(120 * 1024);
  });

  it('has nothing at an unknown path', async () => {
    for (const path of ['/console/nowhere', '/console/assets/main-00000000.js', '/console/index.html'])
      expect(await errorOf(await fetch(origin + path))).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('tells a browser at an unknown path that there is no such page, with the status 404', async () => {
    const ask = (path: string, accept: string) => fetch(origin + path, { headers: { accept } });
    const html = await (await fetch(`${origin}/console`)).text();
    for (const path of ['/console/nowhere', '/console/accounts/a/b/c']) {
      const response = await ask(path, 'text/html,application/xhtml+xml,*/*;q=0.8');
      expect([response.status, await response.text()]).toEqual([404, html]);
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    }
    expect(await errorOf(await ask('/console/assets/main-00000000.js', '*/*'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect(await errorOf(await ask('/nowhere', 'text/html'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  it('is missing if a setting says so, and the reference still works', async () => {
    const closed = await startParley({ pages, settings: { console: { access: 'off' } } });
    const there = new URL(closed.baseUrl).origin;
    expect(await errorOf(await fetch(`${there}/console`))).toMatchObject({ status: 404 });
    expect((await fetch(`${there}/docs`)).status).toBe(200);
    await closed.close();
  });
});

describe('/docs', () => {
  it.each([
    '/docs',
    '/docs/',
    '/docs/rpcs',
    '/docs/guides',
    '/docs/guides/clients/go',
    '/docs/api/createChatCompletion',
  ])('%s is a page that may load only its own files', async (path) => {
    const response = await fetch(origin + path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).toMatch(/src="\/docs\/assets\/main-[0-9A-Z]{8}\.js"/);
  });

  it('names its bundle by its content, so that browsers cache it', async () => {
    const html = await (await fetch(`${origin}/docs`)).text();
    const files = [...html.matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, file = '']) => file);
    expect(files).toHaveLength(4);
    for (const file of files) {
      const response = await fetch(origin + file);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toContain('immutable');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  it('answers people with a page at an unknown path, and programs with an error', async () => {
    for (const path of ['/docs/nonsense', '/docs/guides/nonsense', '/docs/api/nonsense', '/docs/assets/']) {
      const page = await fetch(origin + path, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect(page.status).toBe(404);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await page.text()).toContain('<a href="/docs">The reference</a>');
      expect(await errorOf(await fetch(origin + path))).toMatchObject({ status: 404, code: 'not_found' });
      const post = await fetch(origin + path, { method: 'POST', headers: { accept: 'text/html' } });
      expect((await errorOf(post)).message).not.toContain('Use GET');
    }
  });

  it('leads browsers from / to the console, and answers programs with an error', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const led = await fetch(`${origin}/`, { headers: browser, redirect: 'manual' });
    expect([led.status, led.headers.get('location')]).toEqual([302, '/console']);
    expect((await fetch(`${origin}/`, { headers: browser })).url).toBe(`${origin}/console`);
    for (const request of [{}, { headers: { accept: '*/*' } }, { method: 'POST', headers: browser }])
      expect(await errorOf(await fetch(`${origin}/`, request))).toMatchObject({
        status: 404,
        code: 'not_found',
      });
  });

  it('hands out the drawings and examples of its guides', async () => {
    const drawing = await fetch(`${origin}/docs/files/docs/architecture.svg`);
    expect(drawing.headers.get('content-type')).toBe('image/svg+xml');
    const example = await fetch(`${origin}/docs/files/examples/fixed-names.yaml`);
    expect(example.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await example.text()).toContain('id: tts-1');
  });

  it('offers the schemas, alone and as an archive that protoc compiles', async () => {
    const alone = await fetch(`${origin}/docs/proto/parley/chat/v1/chat.proto`);
    expect(alone.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await alone.text()).toContain('message ChatCompletionParams');
  });

  it('offers an archive of the schemas, which protoc compiles for every language', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-protos-'));
    const archive = Buffer.from(await (await fetch(`${origin}/docs/parley-proto.tar.gz`)).arrayBuffer());
    writeFileSync(join(folder, 'protos.tar.gz'), archive);
    const run = (command: string, ...args: string[]) => {
      const { status, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
      expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: '' });
    };
    run('tar', 'xzf', 'protos.tar.gz');
    const files = globSync('**/*.proto', { cwd: folder });
    // C# writes one folder, so a name that two files have would be written twice.
    const languages = ['cpp', 'csharp', 'java', 'kotlin', 'objc', 'php', 'python', 'ruby'];
    run('protoc', '-I', '.', ...languages.map((language) => `--${language}_out=.`), ...files);
    const own = files.filter((file) => file.startsWith('parley/'));
    const options = own.map((file) => readFileSync(join(folder, file), 'utf8').match(/^option .*$/gm));
    rmSync(folder, { recursive: true });
    expect(own.length).toBeGreaterThan(20);
    expect(options).toEqual(own.map(expectedOptions));
  });

  it('answers HEAD without a body, and nothing but GET and HEAD', async () => {
    const head = await fetch(`${origin}/docs`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
    expect(await head.text()).toBe('');
    expect(await errorOf(await fetch(`${origin}/docs`, { method: 'POST' }))).toMatchObject({ status: 404 });
  });

  it.each([
    '/docs/../parley.yaml',
    '/docs/assets',
    '/docs/assets/',
    '/docs/index.html',
    '/docs/%2e%2e/src/main.ts',
  ])('has nothing at %s', async (path) => {
    expect(await errorOf(await fetch(origin + path))).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('leaves no usage record, also with a key', async () => {
    await parley.call('/openapi.json');
    const { items } = await parley.app.store.usage.list({}, { size: 1000, after: undefined });
    expect(items).toEqual([]);
  });

  it('sends no more than 24 files at once on a connection', async () => {
    const session = connect(origin);
    const status = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request({ ':path': path, 'accept-encoding': 'identity' });
        // Nobody reads: with the window full, the answers stay open.
        stream.once('response', (headers) => resolve(Number(headers[':status'])));
        stream.once('error', reject);
      });
    const statuses = await Promise.all(Array.from({ length: 30 }, () => status('/api/v1/openapi.json')));
    session.destroy();
    expect(statuses.filter((one) => one === 200)).toHaveLength(24);
    expect(statuses.filter((one) => one === 429)).toHaveLength(6);
  });

  it('is missing if a setting says so', async () => {
    const closed = await startParley({ pages, settings: { docs: { access: 'off' } } });
    const there = new URL(closed.baseUrl).origin;
    for (const path of ['/docs', '/docs/rpcs', '/docs/parley-proto.tar.gz', '/api/v1/openapi.json'])
      expect(await errorOf(await fetch(there + path))).toMatchObject({ status: 404 });
    await closed.close();
  });
});

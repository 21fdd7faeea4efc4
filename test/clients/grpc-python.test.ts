/**
 * gRPC by a client that shares no code with the server: Debian's Python packages, and stubs that protoc makes from the
 * schemas.
 */
import { execFile, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playingEngines } from '../conformance/play.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { missingFromPython, python } from './python/debian.ts';

const run = promisify(execFile);
const project = new URL('../..', import.meta.url).pathname;
const missing = missingFromPython();
if (missing !== undefined) {
  const install = readPage('python').command('install');
  process.stderr.write(`NOT TESTED: gRPC by Python (${missing}). To test it: ${install}\n`);
}

/** Folders of schemas, each with the schemas that stubs are made from. */
const schemas: readonly (readonly [string, readonly string[]])[] = [
  ['proto', globSync('{parley,google}/**/*.proto', { cwd: join(project, 'proto') })],
  ['node_modules/grpc-health-check/proto', ['health/v1/health.proto']],
  // A file in the folder above would be a module of the package `grpc`, which must not be extended.
  ['node_modules/@grpc/reflection/build/proto/grpc', ['reflection/v1/reflection.proto']],
];

async function makeStubs(folder: string): Promise<void> {
  const includes = schemas.map(([root]) => `-I${join(project, root)}`);
  const files = schemas.flatMap(([, names]) => names);
  const plugin = spawnSync('/bin/sh', ['-c', 'command -v grpc_python_plugin']).stdout.toString().trim();
  const outputs = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
  await run('protoc', [...includes, ...outputs, `--plugin=protoc-gen-grpc_python=${plugin}`, ...files]);
}

type Results = Readonly<Record<string, unknown>>;

describe.skipIf(missing !== undefined)(`gRPC by Python${missing ? ` (${missing})` : ''}`, () => {
  let parley: Parley;
  let results: Results = {};
  let stubs = '';

  beforeAll(async () => {
    parley = await startParley({ engines: playingEngines() });
    stubs = mkdtempSync(join(tmpdir(), 'parley-python-'));
    await makeStubs(stubs);
    const { host } = new URL(parley.baseUrl);
    const checks = join(project, 'test/clients/python/checks.py');
    const env = { PYTHONPATH: stubs, PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await run(python, [checks, host, parley.apiKey], { env, timeout: 170_000 });
    results = JSON.parse(stdout) as Results;
  });
  afterAll(async () => {
    await parley.close();
    rmSync(stubs, { recursive: true });
  });

  const recordsOf = async (operation: string, state: string) =>
    (await parley.app.store.usage.list({ operation, state }, { size: 100, after: undefined })).items;

  it('calls a method and reads the request’s id', () => {
    expect(results['unary']).toEqual({
      models: ['flite', 'pocketsphinx', 'eliza'],
      requestId: expect.stringMatching(/^req_[0-9a-f]{32}$/),
    });
  });

  it('reads a stream of audio', () => {
    expect(results['server_stream']).toEqual({ contentTypes: ['audio/pcm', ''], audio: 'one “zwei” 🎉' });
  });

  it('reads a stream of chat', () => {
    expect(results['chat_stream']).toEqual({ text: 'one two', finishReason: 'stop', totalTokens: 10 });
  });

  it('sends parameters that the schema does not name', () => {
    expect(results['unknown_parameters']).toBe('🎉');
  });

  it('sends a stream of chunks', () => {
    expect(results['client_stream']).toEqual({
      text: 'one two three',
      duration: 0.5,
      words: ['one two', 'three'],
    });
  });

  it('is refused an upload that is too large', () => {
    expect(results['too_large_upload']).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      info: { reason: 'payload_too_large' },
    });
  });

  it('reads an error with its details', () => {
    expect(results['error']).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('no such model'),
      same: true,
      info: { reason: 'not_found', domain: 'parley', http_status: '404', param: 'id' },
      details: ['type.googleapis.com/google.rpc.ErrorInfo'],
    });
  });

  it('reads how long to wait', () => {
    expect(results['error_with_retry']).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      info: { reason: 'upstream_error', http_status: '429' },
      retrySeconds: 7,
    });
  });

  it('reads an error in the middle of a stream, after earlier output', () => {
    expect(results['error_in_the_middle']).toMatchObject({
      code: 'UNAVAILABLE',
      info: { reason: 'upstream_error' },
      texts: ['', 'one'],
    });
  });

  it('is refused without a key', () => {
    expect(results['no_key']).toMatchObject({ code: 'UNAUTHENTICATED', info: { reason: 'invalid_api_key' } });
  });

  it('gives up at its deadline, and so does the server', async () => {
    expect(results['deadline']).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const { seconds } = results['deadline'] as { seconds: number };
    expect(seconds).toBeGreaterThan(0.4);
    await expect.poll(async () => (await recordsOf('speech', 'cancelled')).length).toBe(2);
  });

  it('cancels, and pays for the input', async () => {
    expect(results['cancel']).toMatchObject({ code: 'CANCELLED', audio: 'one' });
    const records = await recordsOf('speech', 'cancelled');
    expect(records.map(({ fairUseUnits }) => fairUseUnits).toSorted()).toEqual([
      0,
      'play: say one; wait'.length,
    ]);
  });

  it('packs its request with gzip', () => {
    expect(results['gzip']).toBe('eliza');
  });

  it('makes many calls at once on one connection', () => {
    expect(results['many_at_once']).toEqual({ texts: ['one'], calls: 50 });
  });

  it('requests the health and watches it', () => {
    expect(results['health']).toEqual(['SERVING', 'SERVING']);
  });

  it('requests the schema', () => {
    expect(results['reflection']).toMatchObject({
      services: expect.arrayContaining(['parley.chat.v1.ChatService', 'grpc.health.v1.Health']),
    });
    const { files } = results['reflection'] as { files: number };
    expect(files).toBeGreaterThan(3);
  });
});

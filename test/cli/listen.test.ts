import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { inShell, parley, scratchFolder } from '../support/command-line.ts';
import { startParley } from '../support/parley.ts';

const missing = missingHearing() ?? missingPrograms('flite');
const folder = scratchFolder();
const server = await startParley();
const options = { cwd: folder.path, env: { PARLEY_BASE_URL: server.baseUrl, PARLEY_API_KEY: server.apiKey } };
const listen = (...args: string[]) => parley(['listen', ...args], options);

describe.skipIf(missing)(`parley listen${missing ? `: ${missing}` : ''}`, () => {
  it('prints a line for each turn of a file, spoken at its pace', async () => {
    const spoken = await speak('hello my friend');
    const pause = new Int16Array(16_000);
    const samples = Int16Array.from([...spoken, ...pause, ...spoken, ...pause]);
    writeFileSync(folder.file('a.wav'), wavFile(samples));
    const startedAt = performance.now();
    const { code, stdout, stderr } = await listen('a.wav');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toHaveLength(3);
    expect(stdout).toContain('friend');
    expect(performance.now() - startedAt).toBeGreaterThan((samples.length / 16_000) * 1000 - 200);
  });

  it('takes plain samples from a pipe, and prints turns as JSON', async () => {
    const samples = await speak('hello my friend');
    writeFileSync(folder.file('a.raw'), Buffer.from(samples.buffer));
    const { code, stdout } = await inShell('"$@" listen --json --silence 300 - < a.raw', options);
    expect(code).toBe(0);
    const [line = ''] = stdout.split('\n');
    expect(JSON.parse(line)).toMatchObject({
      turn: 1,
      words: expect.any(Array),
      seconds: expect.any(Number),
    });
  });
});

describe('parley listen', () => {
  it('says how to convert a file that it cannot send', async () => {
    writeFileSync(folder.file('b.wav'), 'no audio');
    const { code, stderr } = await listen('b.wav');
    expect(code).toBe(1);
    expect(stderr).toBe(
      "b.wav: It is no WAV file of one channel with 16 bits. Convert it: ffmpeg -i 'b.wav' -ac 1 -ar 16000 -c:a pcm_s16le 'b.wav.wav'\n",
    );
    expect((await listen('gone.wav')).stderr).toMatch(
      /^gone\.wav: It cannot be read \(.*\)\. Check the name\.\n$/,
    );
  });

  it('says what the server refuses', async () => {
    writeFileSync(folder.file('c.wav'), wavFile(new Int16Array(1_600)));
    const key = await server.newKey();
    const env = { ...options.env, PARLEY_API_KEY: key };
    const { code, stderr } = await parley(['listen', 'c.wav'], { ...options, env });
    expect(code).toBe(1);
    expect(stderr).toContain('(subscription_required, request req_');
  });
});

/** Clients of NVIDIA Riva from PyPI: nvidia-riva-client, and pipecat's services for NVIDIA, which need another protobuf. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasMoonshine, missingHearing } from '../../src/media/hearing-files.ts';
import { readPage } from '../clients/page.ts';
import { shell } from '../clients/shell.ts';
import { missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { type Parley, startParley } from '../support/parley.ts';
import type { Installed } from './clients/cache.ts';
import { installPython } from './clients/install-python.ts';

/** Long enough for texts that grow. */
const sentence = 'It is good to hear from you and it is good to see you again.';
/** Moonshine writes capitals and punctuation. */
const heard = /^it is good to hear from you\b.* see you again\.? $/i;

const riva = await installPython('riva', 10);
const pipecat = await installPython('pipecat-riva', 11);
const unable = missingHearing() ?? missingPrograms('flite');
const missingOf = (installed: Installed) =>
  unable ?? ('missing' in installed ? installed.missing : undefined);

describe('clients of NVIDIA Riva', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-riva-'));
  const [wav, samples] = [join(folder, 'speech.wav'), join(folder, 'speech.pcm')];
  let parley: Parley;
  beforeAll(async () => {
    // Without TLS, pipecat asks for the voices without its key.
    parley = await startParley({ settings: { voices: { access: 'open' } } });
    if (unable) return;
    const spoken = await speak(sentence);
    writeFileSync(wav, wavFile(spoken));
    writeFileSync(samples, Buffer.from(spoken.buffer, spoken.byteOffset, spoken.byteLength));
  });
  afterAll(async () => {
    await parley.close();
    rmSync(folder, { recursive: true });
  });

  async function run(installed: Installed, program: string, ...args: readonly string[]): Promise<string> {
    if ('missing' in installed) throw new Error(installed.missing);
    const env = { PARLEY_HOST: new URL(parley.baseUrl).host, PARLEY_API_KEY: parley.apiKey };
    const command = `exec venv/bin/python ${program}`;
    const { stdout, stderr, code } = await shell(command, { env, args, cwd: installed.folder });
    if (code !== 0) throw new Error(`ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }
  const factsOf = (stdout: string): unknown[] =>
    stdout
      .split('\n')
      .filter(Boolean)
      .map((fact): unknown => JSON.parse(fact));

  describe.skipIf(missingOf(riva) !== undefined)(`nvidia-riva-client ${missingOf(riva) ?? ''}`, () => {
    it('lists models, hears and speaks', async () => {
      const [models, voices, ...others] = factsOf(await run(riva, 'client.py', wav));
      expect(models).toEqual({
        models: [
          ['pocketsphinx', 'online'],
          ['pocketsphinx', 'offline'],
        ],
      });
      expect(voices).toEqual({ voices: expect.arrayContaining(['flite.slt', 'flite.rms']) });
      // pocketsphinx hears a turn at its end.
      expect(others).toEqual([
        { text: expect.stringMatching(heard), words: 15, encoding: 0 },
        { interim: hasMoonshine(), final: expect.stringMatching(heard) },
        { milliseconds: expect.any(Number) },
        { begins: 'OggS' },
        { code: 'INVALID_ARGUMENT', details: expect.stringContaining('no voice `English-US.Female-1`') },
      ]);
    });

    it('runs the program of docs/realtime.md', async () => {
      if ('missing' in riva) throw new Error(riva.missing);
      const program = 'riva_client.py';
      writeFileSync(join(riva.folder, program), readPage('../realtime').file(program));
      const stdout = await run(riva, program);
      expect(stdout).toMatch(/good to hear from you/);
      expect(stdout).toMatch(/how are you/i);
    });
  });

  it.skipIf(missingOf(pipecat) !== undefined)(
    `pipecat hears two utterances, half a second apart, and speaks ${missingOf(pipecat) ?? ''}`,
    async () => {
      const [hearing, speech] = factsOf(await run(pipecat, 'client.py', samples));
      expect(hearing).toEqual({
        interim: hasMoonshine(),
        texts: [expect.stringMatching(heard), expect.stringMatching(heard)],
      });
      expect(speech).toEqual({ bytes: expect.any(Number) });
    },
  );
});

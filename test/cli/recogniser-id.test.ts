/** The id of the recogniser inside Parley, while set-up goes on beside the server. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { hearingFolder, missingHearing } from '../../src/media/hearing-files.ts';
import { bareClone } from '../support/bare-clone.ts';
import { ended, until } from '../support/command-line.ts';

const missing = missingHearing();
const clone = bareClone();
afterAll(() => clone.remove());

it.skipIf(missing !== undefined)(`follows what set-up provides ${missing ?? ''}`, async () => {
  symlinkSync(hearingFolder, clone.file('.hearing'));
  const dataDir = clone.file('data');
  const args = [clone.file('src/main.ts'), 'serve', '--demo', '--port', '0', '--data-dir', dataDir];
  const server = spawn(process.execPath, args, { cwd: clone.path, env: { PATH: process.env['PATH'] } });
  const end = ended(server);
  const read = (name: string) => JSON.parse(readFileSync(`${dataDir}/${name}`, 'utf8'));
  try {
    await until(() => server.exitCode !== null || existsSync(`${dataDir}/first-run.json`));
    const headers = { authorization: `Bearer ${read('first-run.json').apiKey}` };
    const recogniser = async () => {
      const answer = await fetch(`${read('server.json').baseUrl}/models?type=transcription`, { headers });
      return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(await recogniser()).toEqual(['pocketsphinx']);
    mkdirSync(clone.file('incoming'));
    for (const name of [
      'encoder_model.ort',
      'decoder_model_merged.ort',
      'tokenizer.bin',
      'ort.wasm',
      'ort.mjs',
    ])
      writeFileSync(clone.file(`incoming/${name}`), '');
    renameSync(clone.file('incoming'), clone.file('.moonshine'));
    await expect.poll(recogniser, { timeout: 60_000 }).toEqual(['moonshine-tiny-en']);
  } finally {
    server.kill('SIGTERM');
    await end;
  }
});

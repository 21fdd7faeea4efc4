/** Python's clients of live sessions, from PyPI: openai, as docs/realtime.md has it, and LiveKit's plugin. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { readPage } from '../clients/page.ts';
import { shell } from '../clients/shell.ts';
import { type Folder, scratchFolder } from '../support/command-line.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { installPython } from './clients/install-python.ts';

const installed = await installPython('live', 12);
const missing = 'missing' in installed ? installed.missing : missingHearing();
const python = 'folder' in installed ? join(installed.folder, 'venv/bin/python') : '';
const livekit = 'folder' in installed ? join(installed.folder, 'client.py') : '';

describe.skipIf(missing !== undefined)(`live sessions in Python${missing ? ` (${missing})` : ''}`, () => {
  let parley: Parley;
  let folder: Folder;
  beforeAll(async () => {
    parley = await startParley();
    folder = scratchFolder();
    const body = {
      model: 'flite',
      voice: 'rms',
      input: 'It is good to hear from you.',
      response_format: 'pcm',
    };
    const spoken = await parley.postJson('/audio/speech', body);
    writeFileSync(folder.file('speech.pcm'), Buffer.from(await spoken.arrayBuffer()));
    const page = readPage('../realtime');
    writeFileSync(folder.file('live.py'), page.file('live.py'));
    writeFileSync(livekit.replace('client.py', 'livekit_model.py'), page.file('livekit_model.py'));
  });
  afterAll(async () => {
    await parley.close();
    rmSync(folder.path, { recursive: true });
  });

  const run = async (program: string, ...args: readonly string[]) => {
    const env = { PARLEY_BASE_URL: parley.baseUrl, PARLEY_API_KEY: parley.apiKey };
    const { stdout, stderr, code } = await shell(`exec ${python} ${program}`, {
      env,
      args,
      cwd: folder.path,
    });
    if (code !== 0) throw new Error(`ended with ${code}: ${stderr}`);
    return stdout.trim();
  };

  it('of openai print the text of a turn', async () => {
    expect(await run('live.py')).toBe('it is good to hear from you');
  });

  it('of LiveKit get the text of a turn', async () => {
    expect(JSON.parse(await run(livekit, 'listen', 'speech.pcm'))).toEqual({
      heard: 'it is good to hear from you',
    });
  });

  it('of LiveKit talk in a conversation', async () => {
    const fact = { said: expect.stringMatching(/\w+/), spoken: true };
    expect(JSON.parse(await run(livekit, 'talk', 'speech.pcm'))).toEqual(fact);
  });
});

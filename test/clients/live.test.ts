/** The commands of docs/realtime.md. */
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { scratchFolder } from '../support/command-line.ts';
import { startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { shell } from './shell.ts';

const missing = missingHearing() ?? missingPrograms('flite', 'ffmpeg');
const main = new URL('../../src/main.ts', import.meta.url).pathname;

describe.skipIf(missing)(`docs/realtime.md${missing ? `: ${missing}` : ''}`, () => {
  it.each(['pipe', 'file', 'talk'])('has a command that prints the spoken text: %s', async (name) => {
    const server = await startParley();
    const folder = scratchFolder();
    for (const name of ['speech.wav', 'question.wav'])
      writeFileSync(folder.file(name), wavFile(await speak('hello my friend')));
    writeFileSync(folder.file('parley'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    chmodSync(join(folder.path, 'parley'), 0o755);
    const env = {
      PATH: [folder.path, process.env['PATH']].join(delimiter),
      PARLEY_BASE_URL: server.baseUrl,
      PARLEY_API_KEY: server.apiKey,
    };
    const { code, stdout, stderr } = await shell(readPage('../realtime').command(name), {
      cwd: folder.path,
      env,
    });
    await server.close();
    folder.remove();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('friend');
  });
});

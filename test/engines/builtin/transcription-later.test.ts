/** Transcription in a clone where set-up has not built the modules yet, or cannot. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hearingFolder, missingHearing } from '../../../src/media/hearing-files.ts';
import { missingPrograms, speak, wavFile } from '../../support/audio-files.ts';
import { type BareClone, bareClone } from '../../support/bare-clone.ts';

const missing = missingHearing() ?? missingPrograms('flite');
if (missing !== undefined)
  process.stderr.write(`transcription-later.test.ts is skipped in part: ${missing}\n`);

let clone: BareClone;
beforeAll(() => {
  clone = bareClone();
});
afterAll(() => clone.remove());

const run = promisify(execFile);

/** Calls the engine of the clone, moves the modules there, and calls it again. */
const script = `
  import { readFileSync, renameSync } from 'node:fs';
  import { createBuiltinTranscription } from './src/engines/builtin/transcription.ts';
  import { hearingFolder } from './src/media/hearing-files.ts';
  const engine = createBuiltinTranscription({ recognisers: 1, queueMax: 0 });
  const audio = readFileSync('speech.wav');
  const transcribe = async () => {
    const texts = [];
    for await (const event of engine.transcribe({ audio, signal: new AbortController().signal })) {
      if (event.kind === 'segment') texts.push(event.segment.text);
    }
    return texts.join(' ');
  };
  const before = [engine.availability(), await transcribe().catch(({ code, message }) => ({ code, message }))];
  renameSync('modules', hearingFolder);
  console.log(JSON.stringify({ before, after: [engine.availability(), await transcribe()] }));
  await engine.close();
`;

async function doctor(config: string): Promise<{ checks: readonly object[]; problems: number }> {
  writeFileSync(clone.file('parley.yaml'), config);
  const args = [clone.file('src/main.ts'), 'doctor', '--json'];
  const { stdout } = await run(process.execPath, args, { cwd: clone.path }).catch((ended) => ended);
  return JSON.parse(stdout);
}

describe('a clone without the modules', () => {
  it.each([
    ['was never set up', undefined, 'is not built. To build it, and to see what is missing: npm run build'],
    [
      'is being set up',
      `building ${process.pid} step 3 of 3, compiling: 42 %`,
      'is being set up: step 3 of 3, compiling: 42 %. Try again when that is done.',
    ],
    ['was left while it was set up', 'building 4194305', 'is not built. To build it'],
    [
      'cannot be set up',
      'failed',
      'could not be built. To build it, and to see what is missing: npm run build',
    ],
  ])('says so in `doctor` if it %s', async (_, state, found) => {
    mkdirSync(clone.file('.setup'), { recursive: true });
    if (state !== undefined) writeFileSync(clone.file('.setup/hearing-state'), state);
    expect((await doctor('server: {port: 0}\n')).checks).toContainEqual(
      expect.objectContaining({
        subject: 'hearing',
        state: 'problem',
        found: expect.stringContaining(found),
      }),
    );
  });

  it('has no problem if no model needs them', async () => {
    const chat = '{id: eliza, type: chat, engine: builtin, price: {input: 0, output: 0}}';
    expect(await doctor(`server: {port: 0}\nmodels: [${chat}]\n`)).toMatchObject({ problems: 0 });
  });

  it.skipIf(missing !== undefined)('refuses to transcribe, and starts to when they are there', async () => {
    cpSync(hearingFolder, clone.file('modules'), { recursive: true, dereference: true });
    writeFileSync(clone.file('speech.wav'), wavFile(await speak('A light rain had fallen.')));
    writeFileSync(clone.file('ask.ts'), script);
    const { stdout } = await run(process.execPath, [clone.file('ask.ts')], { cwd: clone.path });
    const { before, after } = JSON.parse(stdout);
    const [{ available, reason }, refused] = before;
    expect(available).toBe(false);
    expect(refused).toEqual({ code: 'engine_unavailable', message: reason });
    expect(after[0]).toEqual({ available: true });
    expect(after[1]).toContain('rain');
  });
});

/** The seconds that are counted are those that can be decoded, whatever the file states. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { encode, missingPrograms, speak } from '../support/audio-files.ts';
import { startBehind } from '../support/behind-upstream.ts';
import { bigEndian, lyingFiles, secondsByFfprobe, tone } from '../support/lying-files.ts';
import { errorOf, type Parley, startParley } from '../support/parley.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from '../support/upstream-answers.ts';

const missing = missingHearing() ?? missingPrograms('ffmpeg', 'ffprobe', 'flite');
if (missing !== undefined) process.stderr.write(`lying-files.test.ts is skipped: ${missing}\n`);

const path = '/audio/transcriptions';
const upstream = await startScriptedUpstream();
const inside = await startParley();
const before = await startBehind(upstream.baseUrl, {
  engine: { models: { hearer: 'stt' }, transcriptionFormat: 'json' },
  models: [{ id: 'hearer', type: 'transcription', engine: 'upstream' }],
});
afterAll(async () => {
  await Promise.all([inside.close(), before.close()]);
  await upstream.stop();
});
beforeEach(() => upstream.answer(path, json({ text: 'Hello.' })));

function transcribe(parley: Parley, file: Uint8Array, name = 'recording', init: RequestInit = {}) {
  const body = new FormData();
  body.append('file', new File([Buffer.from(file)], name));
  body.append('stream', String(init.signal !== undefined));
  return parley.call(path, { method: 'POST', body, ...init });
}

async function countedSeconds(parley: Parley, file: Uint8Array, name: string): Promise<number> {
  const response = await transcribe(parley, file, name);
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return ((await parley.recordOf(response)).audioMsIn ?? 0) / 1000;
}

describe.skipIf(missing !== undefined).each(lyingFiles)('%s', (name, make) => {
  let file: Buffer;
  let seconds: number;
  beforeAll(async () => {
    file = await make();
    seconds = await secondsByFfprobe(file);
  });

  it.each([
    ['the engine inside', inside],
    ['an upstream', before],
  ])('is counted as long as ffprobe decodes it, on %s', async (_, parley) => {
    const counted = await countedSeconds(parley, file, name);
    expect(Math.abs(counted / seconds - 1), `${counted} s instead of ${seconds} s`).toBeLessThan(0.02);
  });
});

describe.skipIf(missing !== undefined)('a recording', () => {
  it('of a whole minute is charged as one', async () => {
    const file = await encode(tone(60), 'ogg', '-c:a', 'libvorbis', '-ar', '44100');
    for (const parley of [inside, before]) {
      const record = await parley.recordOf(await transcribe(parley, file));
      expect(record).toMatchObject({ state: 'ok', fairUseUnits: 900 });
    }
  });

  it('of big-endian samples is understood', async () => {
    const spoken = await speak('A light rain had fallen during the night.');
    const response = await transcribe(inside, bigEndian(spoken));
    expect(await response.json()).toMatchObject({ text: expect.stringContaining('rain') });
  });

  it.each(['mp4', 'webm'])('in %s whose end is missing is refused', async (extension) => {
    const file = await encode(
      tone(20),
      extension,
      ...(extension === 'mp4' ? ['-movflags', '+faststart'] : []),
    );
    expect(await errorOf(await transcribe(inside, file.subarray(0, file.length / 4)))).toMatchObject({
      status: 400,
      code: 'invalid_file',
      message: expect.stringMatching(/states 20\.\d s of audio, but only \d\.\d s could be read/),
    });
  });

  it('without its end but without a size either is transcribed as far as it goes', async () => {
    const live = await encode(tone(20), 'webm', '-c:a', 'libopus', '-live', '1');
    expect(await countedSeconds(inside, live.subarray(0, live.length / 4), 'a.webm')).toBeLessThan(6);
  });

  it('costs all of its seconds if the client leaves after the first words', async () => {
    const spoken = await speak(
      'A light rain had fallen during the night. The stones along the water were dark.',
    );
    const long = new Int16Array(spoken.length * 24);
    for (let at = 0; at < long.length; at += spoken.length) long.set(spoken, at);
    const file = await encode(long, 'flac', '-seekable', '0');
    const leaving = new AbortController();
    const response = await transcribe(inside, file, 'a.flac', { signal: leaving.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    leaving.abort();
    await expect.poll(() => inside.recordOf(response)).toMatchObject({ state: 'cancelled' });
    const { audioMsIn = 0, fairUseUnits } = await inside.recordOf(response);
    expect(audioMsIn / 1000).toBeCloseTo(long.length / 16_000, 1);
    expect(fairUseUnits).toBe(15 * Math.ceil(audioMsIn / 1000));
  });
});

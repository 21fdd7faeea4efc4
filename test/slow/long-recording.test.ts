/** Ten hours in one file: a transcript in bounded memory. */
import { expect, it } from 'vitest';
import { createBuiltinTranscription } from '../../src/engines/builtin/transcription.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { generate, missingPrograms } from '../support/audio-files.ts';

const missing = missingHearing() ?? missingPrograms('ffmpeg');

it.skipIf(missing !== undefined)('gives an empty transcript for ten hours of silence', async () => {
  const engine = createBuiltinTranscription({ recognisers: 2, queueMax: 8 });
  const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '36000', '-frame_size', '65535'];
  const audio = await generate('flac', ...silence);
  expect(audio.length).toBeLessThan(4 * 1024 * 1024);
  const before = process.memoryUsage.rss();
  const { signal } = new AbortController();
  const events = [];
  for await (const event of engine.transcribe({ audio, fileName: undefined, language: undefined, signal })) {
    events.push(event);
  }
  expect(events.filter(({ kind }) => kind === 'segment')).toEqual([]);
  expect(events.at(-1)).toEqual({ kind: 'done', durationMs: 36_000_000, language: 'english' });
  expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024);
  await engine.close();
});

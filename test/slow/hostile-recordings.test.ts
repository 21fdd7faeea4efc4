/** Recordings that are built to keep the reader of their length busy: the server and the files behind them go on. */
import { afterAll, expect, it } from 'vitest';
import { detectContainer } from '../../src/media/probing/file-format.ts';
import { createDurationProbe } from '../../src/media/probing/probe.ts';
import { wavFile } from '../support/audio-files.ts';

const probe = createDurationProbe();
afterAll(() => probe.close());

const good = wavFile(new Int16Array(16_000 * 6));
const largest = 4_000_000;
const frames = Buffer.from('ffe318c4'.padEnd(144, '0').repeat(3), 'hex');
const ftyp = Buffer.from('000000186674797069736f6d0000020069736f6d6d703432', 'hex');
const webm = Buffer.from(
  '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff',
  'hex',
);

/** `start`, then `unit` again and again up to the largest size, both in hexadecimal. */
const repeated = (unit: string, start = Buffer.alloc(0)) =>
  Buffer.concat([start, Buffer.from(unit.repeat((2 * largest) / unit.length), 'hex')]);

const hostile: readonly [string, Uint8Array][] = [
  ['MP3 of nothing but sync bytes', repeated('ff', frames)],
  ['MP3 of nothing but half headers', repeated('ffe0', frames)],
  ['MP3 behind hundreds of thousands of tags', repeated('49443303000000000000')],
  ['MP4 of half a million boxes', repeated('0000000866726565', ftyp)],
  ['FLAC of a million empty blocks', repeated('01000000', Buffer.from('fLaC'))],
  ['WebM of two million empty elements', repeated('ec80', webm)],
  ['WebM of clusters without end', repeated('1f43b675ff', webm)],
  ['Ogg of empty pages', repeated(Buffer.from('OggS'.padEnd(28, '\0')).toString('hex'))],
];

it.each(hostile)('%s holds up neither the server nor the files behind it for long', async (_, file) => {
  let beats = 0;
  const beat = setInterval(() => beats++, 5);
  const [, behind] = await Promise.all([
    probe.durationMs(file, detectContainer(file, 'a.mp3')),
    probe.durationMs(good, 'wav'),
  ]);
  clearInterval(beat);
  expect(behind).toBe(6000);
  expect(beats).toBeGreaterThan(0);
});

it('hostile files in a long line of others delay none of them by more than seconds', async () => {
  const bad = Buffer.alloc(largest, 0xff);
  const startedAt = performance.now();
  const all = await Promise.all(Array.from({ length: 8 }, () => probe.durationMs(bad, 'mp3')));
  expect(all).toEqual(new Array(8).fill(undefined));
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect(await probe.durationMs(good, 'wav')).toBe(6000);
});

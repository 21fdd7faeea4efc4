/**
 * Moonshine, where set-up could fetch it: words, their times, sounds without speech, and turns of live speech. It is in a clone of its
 * own, as the other tests run with the recogniser that set-up compiles.
 */
import { symlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMoonshineFetched, moonshineCache } from '../../../../scripts/setup/moonshine.mjs';
import type { TranscriptionEngine, TranscriptSegment } from '../../../../src/core/entities/engine.ts';
import type { LiveSpeaker, LiveTurn } from '../../../../src/core/entities/live.ts';
import { OwnSignal } from '../../../../src/core/values/signal.ts';
import type * as transcription from '../../../../src/engines/builtin/transcription.ts';
import type { Owned } from '../../../../src/engines/engine-set.ts';
import { hearingFolder, missingHearing } from '../../../../src/media/hearing-files.ts';
import { joinSamples, missingPrograms, soundBounds, speak, wavFile } from '../../../support/audio-files.ts';
import { bareClone } from '../../../support/bare-clone.ts';
import { runningThreads } from '../../../support/threads.ts';
import { wordErrors } from '../../../support/word-errors.ts';

const missing =
  missingHearing() ??
  missingPrograms('flite') ??
  (isMoonshineFetched() ? undefined : 'set-up could not fetch Moonshine');
if (missing !== undefined) process.stderr.write(`moonshine.test.ts is skipped: ${missing}\n`);

const rate = 16_000;
const sentences = [
  'A light rain had fallen during the night.',
  'The salt breeze came across from the sea.',
  'These days a chicken leg is a rare dish.',
];
const plain = (text: string) => text.toLowerCase().replace(/[^a-z' ]/g, '');
const threads = () => runningThreads('moonshine-worker');

const clone = bareClone();
let engine: Owned<TranscriptionEngine>;
let spoken: readonly Int16Array[] = [];

const start = (samples: Int16Array, signal = new AbortController().signal) =>
  engine.transcribe({ audio: wavFile(samples), fileName: 'a.wav', language: undefined, signal });

async function transcribe(samples: Int16Array): Promise<TranscriptSegment[]> {
  const segments: TranscriptSegment[] = [];
  for await (const event of start(samples)) if (event.kind === 'segment') segments.push(event.segment);
  return segments;
}

const textOf = (segments: readonly TranscriptSegment[]) => segments.map(({ text }) => text).join(' ');
const seconds = (count: number, level: (at: number) => number) =>
  Int16Array.from({ length: count * rate }, (_, at) => level(at) * 32_767);

afterAll(() => clone.remove());

describe.skipIf(missing !== undefined)('Moonshine', () => {
  beforeAll(async () => {
    symlinkSync(hearingFolder, clone.file('.hearing'));
    symlinkSync(moonshineCache(), clone.file('.moonshine'));
    const module: typeof transcription = await import(
      resolve(clone.file('src/engines/builtin/transcription.ts'))
    );
    engine = module.createBuiltinTranscription({ recognisers: 1, queueMax: 8 });
    spoken = await Promise.all(sentences.map((sentence) => speak(sentence)));
  });
  afterAll(async () => {
    await engine.close();
    expect(threads()).toEqual([]);
  });

  it('recognises sentences, with capitals and full stops', async () => {
    const text = textOf(await transcribe(joinSamples(800, ...spoken.flatMap((samples) => [samples, 800]))));
    expect(wordErrors(sentences.join(' '), text)).toBeLessThanOrEqual(2);
    expect(text).toMatch(/^[A-Z].*\.$/);
  });

  it('gives times near those of the words, in order, also of minutes', async () => {
    const [one = new Int16Array(0)] = spoken;
    const repeats = 10;
    const pauseMs = 700;
    const segments = await transcribe(
      joinSamples(...Array.from({ length: repeats }, () => [one, pauseMs]).flat()),
    );
    const words = segments.flatMap((segment) => segment.words);
    expect(words).toHaveLength(repeats * 8);
    const { startMs, endMs } = soundBounds(one);
    for (let at = 0; at < repeats; at += 1) {
      const offsetMs = at * (one.length / 16 + pauseMs);
      const own = words.slice(at * 8, (at + 1) * 8);
      expect(Math.abs((own[0]?.startMs ?? 0) - offsetMs - startMs)).toBeLessThan(200);
      expect(Math.abs((own[7]?.endMs ?? 0) - offsetMs - endMs)).toBeLessThan(200);
    }
    expect(words.map(({ startMs: ms }) => ms)).toEqual(
      words.map(({ startMs: ms }) => ms).toSorted((a, b) => a - b),
    );
  });

  it.each([
    ['silence', seconds(5, () => 0)],
    ['quiet noise', seconds(5, (at) => 0.01 * noise(at))],
    ['loud noise', seconds(5, (at) => 0.3 * noise(at))],
    ['a tone', seconds(5, (at) => 0.3 * Math.sin(at * 0.173))],
    [
      'a chord',
      seconds(5, (at) => 0.1 * [0.103, 0.13, 0.155].reduce((sum, step) => sum + Math.sin(at * step), 0)),
    ],
    ['clicks', seconds(5, (at) => (at % 4000 === 0 ? 0.9 : 0))],
    ['a tenth of a second', seconds(0.1, (at) => 0.3 * Math.sin(at * 0.173))],
  ])('makes no words of %s', async (_, samples) => {
    expect(textOf(await transcribe(samples))).toBe('');
  });

  it('ends the thread of a request that is aborted', async () => {
    const client = new AbortController();
    const long = joinSamples(...Array.from({ length: 20 }, () => spoken).flat());
    const leave = async () => {
      for await (const event of start(long, client.signal)) if (event.kind === 'segment') client.abort();
    };
    await expect(leave()).rejects.toMatchObject({ code: 'request_cancelled' });
    await expect.poll(() => threads(), { timeout: 10_000 }).toEqual([]);
  });

  describe('while people speak', () => {
    let speaker: LiveSpeaker;
    let partials: string[];
    beforeAll(() => {
      speaker = engine.openSpeaker?.() as LiveSpeaker;
    });
    const listen = (signal = new OwnSignal()): LiveTurn => {
      partials = [];
      return speaker.listen({
        language: undefined,
        onPartial: (text) => partials.push(text),
        onFailure: (error) => expect(error).toBeUndefined(),
        signal,
      });
    };

    it('gives the text of a turn at its end, with times from its start', async () => {
      const turn = listen();
      turn.add(Int16Array.from(joinSamples(500, spoken[0] ?? new Int16Array(0))));
      const { text, words } = await turn.finish();
      expect(wordErrors(sentences[0] ?? '', text)).toBeLessThanOrEqual(1);
      expect(words[0]?.startMs).toBeGreaterThan(400);
      expect(words[0]?.probability).toBeGreaterThan(0.5);
    });

    it('shows words of an open turn', async () => {
      const turn = listen();
      turn.add(Int16Array.from(spoken[1] ?? []));
      await expect.poll(() => partials.length).toBe(1);
      expect(partials[0]).toContain('across from the sea');
      turn.drop();
    });

    it('recognises a turn of over half a minute at its pauses', async () => {
      const turn = listen();
      const parts = Array.from({ length: 4 }, () => spoken.flatMap((samples) => [samples, 600])).flat();
      turn.add(Int16Array.from(joinSamples(...parts)));
      const { text, words } = await turn.finish();
      const said = Array.from({ length: 4 }, () => plain(sentences.join(' '))).join(' ');
      expect(wordErrors(said, text)).toBeLessThan(8);
      expect(words.at(-1)?.endMs).toBeGreaterThan(30_000);
    });

    it('ends a turn whose session ends', async () => {
      const signal = new OwnSignal();
      const turn = listen(signal);
      turn.add(Int16Array.from(joinSamples(...spoken)));
      const text = turn.finish();
      signal.abort(new Error('gone'));
      await expect(text).rejects.toMatchObject({ code: 'request_cancelled' });
    });

    it('refuses turns beyond six for each thread', () => {
      const turns = Array.from({ length: 6 }, () => listen());
      expect(() => listen()).toThrow(expect.objectContaining({ code: 'overloaded', hasNotRun: true }));
      for (const turn of turns) turn.drop();
      listen().drop();
    });
  });
});

/** Chance between -1 and 1 that is the same in every run. */
function noise(at: number): number {
  const mixed = Math.imul(at ^ (at >>> 7), 0x9e3779b1) >>> 0;
  return ((mixed ^ (mixed >>> 15)) % 65_536) / 32_768 - 1;
}

import { describe, expect, it } from 'vitest';
import type { TranscriptionRequest } from '../../src/core/entities/engine.ts';
import type { LiveTurnOptions } from '../../src/core/entities/live.ts';
import { toParleyError } from '../../src/core/values/errors.ts';
import { OwnSignal } from '../../src/core/values/signal.ts';
import { uploadSpeaker } from '../../src/engines/upload-speaker.ts';
import { readWavHead } from '../../src/media/encoders/wav.ts';
import { fakeTranscription } from '../support/fake-engines.ts';

const requests: TranscriptionRequest[] = [];
const engine = fakeTranscription({
  async *transcribe(request) {
    requests.push(request);
    request.signal.throwIfAborted();
    yield { kind: 'audio', durationMs: 1 };
    for (const word of ['one', 'two']) {
      const words = [{ word, startMs: 0, endMs: 1 }];
      yield {
        kind: 'segment',
        segment: { startMs: 0, endMs: 1, text: ` ${word}`, words, avgLogprob: undefined },
      };
    }
    yield { kind: 'done', durationMs: 1, language: 'english' };
  },
});

function listen(options: Partial<LiveTurnOptions> = {}) {
  const failures: string[] = [];
  const signal = new OwnSignal();
  const turn = uploadSpeaker(engine).listen({
    language: 'en',
    onPartial: () => undefined,
    onFailure: (error) => failures.push(toParleyError(error).code),
    signal,
    ...options,
  });
  return { turn, failures, signal };
}

const minute = () => new Int16Array(60 * 16_000);

describe('a turn for an engine that takes files', () => {
  it('is one WAV file, whose segments are its text', async () => {
    const { turn } = listen();
    turn.add(Int16Array.of(1, 2));
    turn.add(Int16Array.of(3));
    expect(await turn.finish()).toMatchObject({ text: 'one two', words: [{ word: 'one' }, { word: 'two' }] });
    const { audio = new Uint8Array(), language } = requests.at(-1) ?? {};
    expect(language).toBe('en');
    const { sampleRate, channels, dataAt = 0, dataBytes } = readWavHead(audio) ?? {};
    expect([sampleRate, channels, dataBytes]).toEqual([16_000, 1, 6]);
    expect([...new Int16Array(audio.slice(dataAt).buffer)]).toEqual([1, 2, 3]);
  });

  it('ends with the session', async () => {
    const { turn, signal } = listen();
    turn.add(Int16Array.of(1));
    signal.abort(toParleyError(new Error('over')));
    await expect(turn.finish()).rejects.toThrow();
  });

  it('fails where an account keeps too much speech, and leaves room for others', () => {
    const account = new OwnSignal();
    account.owner = 'one';
    const turns = Array.from({ length: 20 }, () => listen({ signal: account }));
    for (const { turn } of turns) turn.add(minute());
    const failed = turns.filter(({ failures }) => failures.length > 0);
    expect(failed).toHaveLength(3);
    expect(failed[0]?.failures).toEqual(['overloaded']);
    const other = listen();
    other.turn.add(minute());
    expect(other.failures).toEqual([]);
    for (const { turn } of [...turns, other]) turn.drop();
    const next = listen({ signal: account });
    next.turn.add(minute());
    expect(next.failures).toEqual([]);
    next.turn.drop();
  });
});

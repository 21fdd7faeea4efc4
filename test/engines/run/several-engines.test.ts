/** Failover: the engines that a request tries, their order, and the result for client and usage record. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ChatCompletionChunkSchema, ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ConfigError, loadConfigWithSources } from '../../../src/config/config.ts';
import type {
  Availability,
  Engine,
  TranscriptionEngine,
  TranscriptionEvent,
  Voice,
} from '../../../src/core/entities/engine.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import type { EngineSet } from '../../../src/engines/engine-set.ts';
import { EngineCounts } from '../../../src/engines/run/engine-counts.ts';
import { ModelEngines } from '../../../src/engines/run/model-engines.ts';
import { runStream } from '../../../src/engines/run/run.ts';
import { runTranscription } from '../../../src/engines/run/transcription.ts';
import { fakeTranscription } from '../../support/fake-engines.ts';
import { toEngine } from '../../support/message-chat.ts';
import type { ModelList } from '../../support/model-list.ts';
import { errorOf, type Parley, startParley, TestClock } from '../../support/parley.ts';
import { scratchPath } from '../../support/scratch-path.ts';

const unreachable = (name: string) =>
  new ParleyError('upstream_error', { hasNotRun: true, message: `${name} is not there.` });

/** A scripted engine. Its output is its name. */
class Actor {
  readonly name: string;
  /** Thrown before any output. */
  failure: Error | undefined;
  /** Thrown after some output. */
  breakdown: Error | undefined;
  availability: Availability = { available: true };
  voices: Voice[] = [];
  defaultVoice = '';
  refusal: ParleyError | undefined;

  constructor(name: string) {
    this.name = name;
    this.reset();
  }

  reset(): void {
    this.failure = undefined;
    this.breakdown = undefined;
    this.refusal = undefined;
    this.availability = { available: true };
    this.voices = [{ id: 'one', language: 'en-US' }];
    this.defaultVoice = 'one';
  }

  get set(): EngineSet {
    const availability = () => this.availability;
    return {
      chat: () => toEngine({ availability, complete: () => this.#complete(), stream: () => this.#stream() }),
      speech: () => ({
        availability,
        voices: () => ({ voices: this.voices, defaultVoice: this.defaultVoice }),
        check: () => {
          asked.push(`${this.name} checks`);
          if (this.refusal) throw this.refusal;
        },
        synthesize: () => ({ audio: this.#speak(), durationMs: () => this.name.charCodeAt(0) }),
      }),
      transcription: () => ({ availability, transcribe: () => this.#transcribe() }),
      reading: () => ({ isUp: true, waiting: 0 }),
      close: async () => undefined,
    };
  }

  async #complete() {
    this.#begin();
    if (this.breakdown) throw this.breakdown;
    const message = { role: 'assistant', content: { value: { case: 'text' as const, value: this.name } } };
    return create(ChatCompletionSchema, { choices: [{ message, finishReason: 'stop' }] });
  }

  async *#stream() {
    this.#begin();
    yield create(ChatCompletionChunkSchema, { choices: [{ delta: { content: this.name } }] });
    if (this.breakdown) throw this.breakdown;
    yield create(ChatCompletionChunkSchema, { choices: [{ delta: {}, finishReason: 'stop' }] });
  }

  async *#speak() {
    this.#begin();
    yield new TextEncoder().encode(this.name);
    if (this.breakdown) throw this.breakdown;
  }

  async *#transcribe(): AsyncGenerator<TranscriptionEvent> {
    // Like an engine that measures the file before it calls an upstream.
    yield { kind: 'audio', durationMs: 1_000 };
    this.#begin();
    const segment = { startMs: 0, endMs: 1_000, text: this.name, words: [], avgLogprob: undefined };
    yield { kind: 'segment', segment };
    if (this.breakdown) throw this.breakdown;
    yield { kind: 'done', durationMs: 1_000, language: 'english' };
  }

  #begin(): void {
    asked.push(this.name);
    if (this.failure) throw this.failure;
  }
}

/** The tried engines, in order. */
const asked: string[] = [];
const [a, b, c] = [new Actor('a'), new Actor('b'), new Actor('c')] as const;

const operations = {
  chat: (model) => parley.postJson('/chat/completions', { model: `chat-${model}`, messages }),
  'chat streamed': (model) =>
    parley.postJson('/chat/completions', { model: `chat-${model}`, messages, stream: true }),
  speech: (model) =>
    parley.postJson('/audio/speech', { model: `speech-${model}`, input: 'Hello.', response_format: 'pcm' }),
  transcription: (model) => {
    const body = new FormData();
    body.set('file', new Blob([new Uint8Array(64)]), 'a.wav');
    return (model === 'in-order' ? parley : sticky).call('/audio/transcriptions', { method: 'POST', body });
  },
} satisfies Record<string, (model: 'in-order' | 'sticky') => Promise<Response>>;
const names = ['chat', 'chat streamed', 'speech', 'transcription'] as const;
const messages = [{ role: 'user', content: 'Hello.' }];

const configuration = (transcription: string) => `
engines: {a: {kind: builtin}, b: {kind: builtin}, c: {kind: builtin}}
models:
  - {id: chat-in-order, type: chat, engine: [a, b, c], price: {input: 1, output: 1}}
  - {id: chat-sticky, type: chat, engine: [a, b, c], balance: sticky, price: {input: 1, output: 1}}
  - {id: chat-one, type: chat, engine: [b], price: {input: 1, output: 1}}
  - {id: speech-in-order, type: speech, engine: [a, b, c], balance: in-order}
  - {id: speech-sticky, type: speech, engine: [a, b, c], balance: sticky}
  - {id: whisper, type: transcription, engine: [a, b, c], balance: ${transcription}}
`;

const folder = scratchPath('several');
let parley: Parley;
/** The same with the other balance for its one transcription model. */
let sticky: Parley;

function start(transcription: string): Promise<Parley> {
  const file = join(folder, `${transcription}.yaml`);
  writeFileSync(file, configuration(transcription));
  return startParley({ file, engines: { a: a.set, b: b.set, c: c.set } });
}

beforeAll(async () => {
  parley = await start('in-order');
  sticky = await start('sticky');
});
afterAll(async () => {
  await parley.close();
  await sticky.close();
});
beforeEach(() => {
  for (const actor of [a, b, c]) actor.reset();
  asked.length = 0;
});

const worked = () => asked.filter((entry) => !entry.endsWith('checks'));

describe.each(names)('%s with several engines', (operation) => {
  const ask = operations[operation];

  it('tries only the first one while it works', async () => {
    for (let turn = 0; turn < 2; turn++) expect(await (await ask('in-order')).text()).toContain('a');
    expect(worked()).toEqual(['a', 'a']);
  });

  it('tries the next one if one cannot have begun, and the client does not notice', async () => {
    a.failure = unreachable('a');
    b.failure = unreachable('b');
    const response = await ask('in-order');
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('c');
    expect(worked()).toEqual(['a', 'b', 'c']);
    expect((await parley.recordOf(response)).state).toBe('ok');
  });

  it('skips unavailable ones', async () => {
    a.availability = { available: false, reason: 'a is not installed.' };
    expect((await ask('in-order')).status).toBe(200);
    expect(worked()).toEqual(['b']);
  });

  it('tries no other if an engine may have begun', async () => {
    a.failure = new ParleyError('upstream_error', { httpStatus: 500 });
    const response = await ask('in-order');
    expect(await errorOf(response)).toMatchObject({ status: 500, code: 'upstream_error' });
    expect(worked()).toEqual(['a']);
  });

  it('tries no other after an internal error', async () => {
    a.failure = new TypeError('a fault');
    expect((await ask('in-order')).status).toBe(500);
    expect(worked()).toEqual(['a']);
  });

  it('tries no other after output, whatever the error', async () => {
    a.breakdown = unreachable('a');
    if (operation === 'chat') a.breakdown = new ParleyError('upstream_error');
    const response = await ask('in-order');
    await response.text().catch(() => 'the connection was reset');
    expect((await parley.recordOf(response)).state).toBe('failed');
    expect(worked()).toEqual(['a']);
  });

  it('reports the last error if all fail', async () => {
    for (const actor of [a, b, c]) actor.failure = unreachable(actor.name);
    expect(await errorOf(await ask('in-order'))).toMatchObject({
      status: 502,
      code: 'upstream_error',
      message: 'c is not there.',
    });
    expect(worked()).toEqual(['a', 'b', 'c']);
  });

  it('keeps to the engine of the account in sticky order, and tries the next if that fails', async () => {
    for (let turn = 0; turn < 3; turn++) expect((await ask('sticky')).status).toBe(200);
    const [own = ''] = worked();
    expect(worked()).toEqual([own, own, own]);
    asked.length = 0;
    for (const actor of [a, b, c]) if (actor.name === own) actor.failure = unreachable(own);
    for (let turn = 0; turn < 2; turn++) expect((await ask('sticky')).status).toBe(200);
    const [, next = ''] = worked();
    expect(worked()).toEqual([own, next, own, next]);
  });
});

/** A candidate whose requests count nowhere else. */
function candidate<E extends Engine>(engine: E) {
  const counts = new EngineCounts({ engine: 'e', clock: new TestClock(), onEnd: () => undefined });
  return { engine, model: 'm', counts };
}

describe('a model with several engines', () => {
  const listed = async () => {
    const { data } = (await (await parley.call('/models')).json()) as ModelList;
    return data.map(({ id }: { id: string }) => id);
  };

  it('can be called while one of them is available, otherwise says why not', async () => {
    for (const actor of [a, b])
      actor.availability = { available: false, reason: `${actor.name} is missing.` };
    expect(await listed()).toContain('chat-in-order');
    expect(await listed()).not.toContain('chat-one');
    c.availability = { available: false, reason: 'c is missing.' };
    expect(await listed()).toEqual([]);
    expect(await errorOf(await operations.transcription('in-order'))).toMatchObject({
      status: 503,
      code: 'engine_unavailable',
      message: 'a is missing. b is missing. c is missing.',
    });
  });

  it('tries no other once its client has left', async () => {
    const left = new AbortController();
    const engines = [fakeTranscription({}), fakeTranscription({})].map(candidate);
    let tries = 0;
    const stream = runStream(engines, left.signal, () => {
      tries++;
      left.abort();
      throw new ParleyError('request_cancelled', { hasNotRun: true });
    });
    await expect(stream.next()).rejects.toMatchObject({ code: 'request_cancelled' });
    expect(tries).toBe(1);
  });
});

describe('a speech model with several engines', () => {
  const speak = (voice?: string) =>
    parley.postJson('/audio/speech', { model: 'speech-in-order', input: 'x', voice, response_format: 'pcm' });
  const voice = (id: string, language = 'en-US'): Voice => ({ id, language });
  const catalog = async () => {
    const { data } = (await (await parley.call('/models?type=speech')).json()) as ModelList;
    return data.find(({ id }: { id: string }) => id === 'speech-in-order');
  };

  it('has the voices that all engines share', async () => {
    a.voices = [voice('anna'), voice('bert', 'en-GB'), voice('cleo')];
    b.voices = [voice('cleo'), voice('bert')];
    c.voices = [voice('dora'), voice('bert'), voice('cleo')];
    a.defaultVoice = 'anna';
    b.defaultVoice = 'cleo';
    expect(await catalog()).toMatchObject({
      voices: ['bert', 'cleo'],
      voiceDetails: [
        { id: 'bert', language: 'en-GB' },
        { id: 'cleo', language: 'en-US' },
      ],
      defaultVoice: 'cleo',
    });
    expect(await errorOf(await speak('anna'))).toMatchObject({ status: 400, code: 'unknown_voice' });
    expect((await speak('bert')).status).toBe(200);
  });

  it('ignores the voices of an unavailable engine', async () => {
    a.availability = { available: false, reason: 'a is missing.' };
    a.voices = [voice('anna')];
    b.voices = [voice('cleo')];
    c.voices = [voice('cleo')];
    c.defaultVoice = 'cleo';
    expect(await catalog()).toMatchObject({ voices: ['cleo'], defaultVoice: 'cleo' });
    b.failure = unreachable('b');
    expect(await (await speak('cleo')).text()).toBe('c');
    expect(asked).toEqual(['b checks', 'b checks', 'b', 'c checks', 'c']);
  });

  it('cannot be called if its engines share no voice', async () => {
    b.voices = [voice('bert')];
    expect(await catalog()).toBeUndefined();
    expect(await errorOf(await speak('one'))).toMatchObject({
      status: 503,
      code: 'engine_unavailable',
      message: 'The engines of this model have no voice in common. Do they serve the same model?',
    });
  });

  it('has each text checked by the engine that speaks it', async () => {
    a.refusal = new ParleyError('invalid_input', { message: 'Nothing to say.' });
    expect(await errorOf(await speak())).toMatchObject({ status: 400, message: 'Nothing to say.' });
    expect(asked).toEqual(['a checks']);
    a.refusal = undefined;
    a.failure = unreachable('a');
    b.refusal = new ParleyError('invalid_input', { message: 'Nothing to say.' });
    expect(await errorOf(await speak())).toMatchObject({ status: 400, message: 'Nothing to say.' });
    expect(worked()).toEqual(['a']);
  });

  it('records the duration by the engine that spoke', async () => {
    a.failure = unreachable('a');
    const response = await speak();
    expect(await response.text()).toBe('b');
    expect((await parley.recordOf(response)).audioMsOut).toBe('b'.charCodeAt(0));
  });
});

describe('a transcription model with several engines', () => {
  it('has times only if all of its engines do', () => {
    const engine = (reportsTimes?: boolean) =>
      fakeTranscription(reportsTimes === undefined ? {} : { reportsTimes });
    const several = (one: TranscriptionEngine, other: TranscriptionEngine) =>
      runTranscription(new ModelEngines([candidate(one), candidate(other)])).reportsTimes;
    expect(several(engine(), engine(true))).toBe(true);
    expect(several(engine(), engine(false))).toBe(false);
  });

  it('has speakers if all of its engines do, and none if one has none', () => {
    const several = (...[one, other]: [boolean | undefined, boolean | undefined]) => {
      const engine = (reportsSpeakers?: boolean) => fakeTranscription({ reportsSpeakers });
      const engines = new ModelEngines([candidate(engine(one)), candidate(engine(other))]);
      return runTranscription(engines).reportsSpeakers;
    };
    expect(several(true, true)).toBe(true);
    expect(several(true, false)).toBe(false);
    expect(several(undefined, false)).toBe(false);
    expect(several(undefined, true)).toBeUndefined();
  });
});

describe('the engines of a model', () => {
  const file = join(folder, 'wrong.yaml');
  const price = 'price: {input: 1, output: 1}';
  const loaded = (model: string) => {
    const engines = 'engines: {a: {kind: builtin}, b: {kind: builtin}}';
    writeFileSync(file, `${engines}\nmodels:\n  - {id: m, ${model}}\n`);
    const { config, warnings } = loadConfigWithSources({ env: {}, file });
    return { balance: config.models[0]?.balance, warnings };
  };
  const findings = (model: string) => {
    try {
      loaded(model);
    } catch (error) {
      if (error instanceof ConfigError) return error.findings.map(({ message }) => message);
      throw error;
    }
    return [];
  };

  it.each([
    ['type: speech, engine: [a, b]', []],
    ['type: speech, engine: [a], balance: sticky', []],
    ['type: speech, engine: a', []],
    [
      'type: speech, engine: []',
      ['`models[0].engine` is a list, but must be the name of an engine, or a list of at least one.'],
    ],
    ['type: speech, engine: [a, d]', ['There is no engine `d` for the model `m`. `engines` has: a, b.']],
    [
      'type: speech, engine: [a, b, a]',
      ['The engine `a` is in the list of the model `m` already. Keep it once.'],
    ],
    [
      'type: speech, engine: a, balance: in-order',
      [
        '`balance` needs several engines, but the model `m` has one. Write `engine` as a list, or leave `balance` out.',
      ],
    ],
    [
      'type: speech, engine: [a, b], balance: random',
      ['`models[0].balance` is "random", but must be one of in-order, sticky.'],
    ],
  ])('are checked with the rest of the file: %s', (model, messages) =>
    expect(findings(model)).toEqual(messages),
  );

  it.each([
    ['balance: round-robin', '`models[0].balance` is replaced by `balance: sticky`. Write that instead.'],
    ['balance: least-busy, affinity: account', '`models[0].balance` is replaced by `balance: sticky`.'],
    ['affinity: account', '`models[0].affinity` is replaced by `balance: sticky`. Write that instead.'],
  ])('still have the settings of earlier versions: %s', (settings, warning) => {
    const { balance, warnings } = loaded(`type: chat, engine: [a, b], ${settings}, ${price}`);
    expect([balance, warnings]).toEqual(['sticky', [expect.stringContaining(warning)]]);
  });

  it('name the settings of earlier versions that have no effect', () => {
    const old = 'weights: {a: 3}, affinity: none';
    const { balance, warnings } = loaded(`type: chat, engine: [a, b], ${old}, ${price}`);
    expect(balance).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringMatching(/wrong\.yaml:3:.* `models\[0\]\.weights` has no effect any more\. /),
      expect.stringContaining('`models[0].affinity` has no effect any more. `balance: sticky`'),
    ]);
  });
});

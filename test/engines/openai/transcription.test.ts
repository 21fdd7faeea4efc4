/** Transcription through an OpenAI-compatible upstream: requests, and how its answers are read. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { encode, missingPrograms, wavFile, wavHeader } from '../../support/audio-files.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { bearer, errorOf, type Parley } from '../../support/parley.ts';
import { type Answer, type ReceivedRequest, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { failure, json, resetAt, resetAtOnce, silence, whole } from '../../support/upstream-answers.ts';

const missing = missingPrograms('ffmpeg');
if (missing !== undefined)
  process.stderr.write(`upstream-transcription.test.ts is skipped in part: ${missing}\n`);

const path = '/audio/transcriptions';
const models = [{ id: 'hearer', type: 'transcription', engine: 'upstream' }];
const engine = { models: { hearer: 'org/upstream-stt' } };
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl, { engine, models });
const textOnly = await startBehind(upstream.baseUrl, {
  engine: { ...engine, transcriptionFormat: 'json' },
  models,
});
const takesLists = await startBehind(upstream.baseUrl, {
  engine: { models: { hearer: 'gpt-transcribe' }, transcriptionFormat: 'json' },
  models,
});
afterAll(async () => {
  await Promise.all([parley.close(), textOnly.close(), takesLists.close()]);
  await upstream.stop();
});

const seconds = (count: number) => wavFile(new Int16Array(count * 16_000).fill(9));
const segment = (start: unknown, end: unknown, text: unknown = ' Some words.', more: object = {}) => ({
  id: 7,
  seek: 0,
  start,
  end,
  text,
  tokens: [1, 2],
  avg_logprob: -0.25,
  compression_ratio: 1,
  no_speech_prob: 0.01,
  temperature: 0,
  ...more,
});
const heard = {
  task: 'transcribe',
  language: 'en',
  duration: 4.5,
  text: ' Hello there. General.',
  segments: [segment(0, 1.5, ' Hello there.'), segment(2, 4.25, ' General.')],
};
const usage = { type: 'duration', seconds: 5 };
const heardWords = [
  { word: 'Hello', start: 0.1, end: 0.5 },
  { word: 'there.', start: 0.6, end: 1.4 },
  { word: 'General.', start: 2.1, end: 4.2 },
];

interface Ask {
  readonly file?: Uint8Array;
  readonly name?: string;
  readonly at?: Parley;
  readonly init?: RequestInit;
  readonly fields?: readonly [string, string][];
}

function transcribe({ file = seconds(4), name = 'a b".wav', at = parley, init, fields = [] }: Ask = {}) {
  const form = new FormData();
  form.append('file', new File([Buffer.from(file)], name));
  for (const [field, value] of fields) form.append(field, value);
  return at.call(path, { method: 'POST', body: form, ...init });
}
const inFormat = (format: string, more: Ask = {}) =>
  transcribe({ ...more, fields: [['response_format', format], ...(more.fields ?? [])] });
const verbose = async (more: Ask = {}) => (await inFormat('verbose_json', more)).json();
const wordsToo: [string, string] = ['timestamp_granularities[]', 'word'];
const segmentsToo: [string, string] = ['timestamp_granularities[]', 'segment'];

const formOf = ({ body, headers }: ReceivedRequest): Promise<FormData> =>
  new Response(new Uint8Array(body), {
    headers: { 'content-type': headers['content-type'] ?? '' },
  }).formData();
const lastForm = () => {
  const request = upstream.requests.at(-1);
  if (request === undefined) throw new Error('nothing has reached the upstream');
  return formOf(request);
};

beforeEach(() => upstream.answer(path, json(heard)));

describe('a request', () => {
  it('reaches the upstream as a form of known length, with the file unchanged', async () => {
    const file = seconds(100);
    const response = await transcribe({ file, fields: [['language', 'de']] });
    expect(response.status).toBe(200);
    const request = upstream.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path });
    expect(request?.headers['content-length']).toBe(String(request?.body.length));
    const form = await lastForm();
    const sent = form.get('file') as File;
    expect(Buffer.from(await sent.arrayBuffer()).equals(file)).toBe(true);
    form.delete('file');
    expect([...form]).toEqual([
      ['model', 'org/upstream-stt'],
      ['language', 'de'],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'segment'],
    ]);
  });

  it.each(['', '[]', '[0]', '[7]'])(
    'requests the times of words only if the client wants them, by timestamp_granularities%s',
    async (suffix) => {
      upstream.answer(path, json({ ...heard, words: heardWords }));
      const answer = await verbose({ fields: [[`timestamp_granularities${suffix}`, 'word']] });
      expect(answer).toMatchObject({ words: heardWords });
      expect((await lastForm()).getAll('timestamp_granularities[]')).toEqual(['segment', 'word']);
    },
  );

  it('requests the text alone from a server without times, in any format of the client', async () => {
    upstream.answer(path, json({ text: 'Hello.' }));
    await inFormat('verbose_json', { at: textOnly });
    const form = await lastForm();
    expect(form.get('response_format')).toBe('json');
    expect(form.has('timestamp_granularities[]')).toBe(false);
  });

  it('sends the hints of the client', async () => {
    const hints: [string, string][] = [
      ['prompt', 'Ångström, Curie'],
      ['temperature', '0.4'],
    ];
    await transcribe({ fields: hints });
    const form = await lastForm();
    expect([form.get('prompt'), form.get('temperature')]).toEqual(['Ångström, Curie', '0.4']);
  });

  const lists: [string, string][] = [
    ['languages[]', 'de'],
    ['languages[]', 'pl'],
    ['keywords[]', 'Ångström'],
    ['keywords[]', 'Curie'],
    ['prompt', 'A lecture.'],
  ];
  const hintsSent = async () =>
    [...(await lastForm())].filter(([name]) => /languages?|keywords|prompt/.test(name));

  it('sends keywords as part of the prompt, and no list of languages, to a model without lists', async () => {
    await transcribe({ fields: lists });
    expect(await hintsSent()).toEqual([['prompt', 'A lecture. Ångström, Curie']]);
  });

  it('sends lists to a model that accepts them', async () => {
    await transcribe({ fields: lists, at: takesLists });
    expect((await hintsSent()).sort()).toEqual(lists.toSorted());
  });

  it('sends the only language of a list as the language', async () => {
    await transcribe({ fields: [['languages', 'de']] });
    expect(await hintsSent()).toEqual([['language', 'de']]);
    await transcribe({
      fields: [
        ['language', 'en'],
        ['languages[]', 'de'],
        ['languages[]', ' '],
      ],
    });
    expect(await hintsSent()).toEqual([['language', 'en']]);
  });

  it('leaves out a language that is to be found', async () => {
    await transcribe({ fields: [['language', 'auto']] });
    expect(await hintsSent()).toEqual([]);
    await transcribe({
      fields: [
        ['language', 'Auto'],
        ['languages[0]', 'auto'],
        ['languages[1]', 'de'],
      ],
    });
    expect(await hintsSent()).toEqual([['language', 'de']]);
  });

  it('accepts parameters of SDKs that no engine uses', async () => {
    const response = await transcribe({
      fields: [
        ['chunking_strategy', 'auto'],
        ['chunking_strategy[type]', 'server_vad'],
        ['include[]', 'logprobs'],
      ],
    });
    expect(response.status).toBe(200);
    const form = await lastForm();
    form.delete('file');
    expect([...form.keys()]).toEqual(['model', 'response_format', 'timestamp_granularities[]']);
  });

  it('sends the upstream no more about the client than it needs', async () => {
    const fields: [string, string][] = [
      ['model', 'whisper-1'],
      ['secret', 'secret'],
      ['user', 'me'],
    ];
    await transcribe({ name: 'my "secret"\r\nname.mp3', fields });
    const body = upstream.requests.at(-1)?.body.toString('latin1');
    expect(body).not.toMatch(/secret|whisper-1|user/);
  });

  it('cannot end a part of the form with its content', async () => {
    const language = 'en\r\n--parley\r\nContent-Disposition: form-data; name="model"\r\n\r\nother';
    await transcribe({ fields: [['language', language]] });
    const form = await lastForm();
    expect(form.getAll('model')).toEqual(['org/upstream-stt']);
    expect(form.get('language')).toBe(language);
  });

  describe.skipIf(missing !== undefined)('names the file by its content', () => {
    const sound = seconds(1);
    const samples = new Int16Array(sound.buffer, sound.byteOffset + 44, 16_000);
    it.each([
      ['wav', [], 'audio.wav', 'audio/wav'],
      ['mp3', ['-c:a', 'libmp3lame'], 'audio.mp3', 'audio/mpeg'],
      ['flac', [], 'audio.flac', 'audio/flac'],
      ['m4a', ['-c:a', 'aac'], 'audio.mp4', 'audio/mp4'],
      ['ogg', ['-c:a', 'libopus'], 'audio.ogg', 'audio/ogg'],
      ['webm', ['-c:a', 'libopus'], 'audio.webm', 'audio/webm'],
    ])('%s', async (extension, args, name, type) => {
      await transcribe({ file: await encode(samples, extension, ...args), name: 'recording' });
      const file = (await lastForm()).get('file') as File;
      expect([file.name, file.type]).toEqual([name, type]);
    });
  });
});

const segmentsOf = (answer: unknown) => (answer as { segments: unknown[] }).segments;

describe('an answer with times', () => {
  it('is the text in `json` and `text`', async () => {
    const usage = { type: 'duration', seconds: 5 };
    expect(await (await inFormat('json')).json()).toEqual({ text: 'Hello there. General.', usage });
    expect(await (await inFormat('text')).text()).toBe('Hello there. General.\n');
  });

  it('is complete in `verbose_json`, with the English name of the language', async () => {
    expect(await verbose()).toEqual({
      task: 'transcribe',
      language: 'english',
      duration: 4.5,
      text: 'Hello there. General.',
      segments: [
        expect.objectContaining({ id: 0, start: 0, end: 1.5, text: 'Hello there.', avg_logprob: -0.25 }),
        expect.objectContaining({ id: 1, start: 2, end: 4.25, text: 'General.', avg_logprob: -0.25 }),
      ],
      usage: { type: 'duration', seconds: 5 },
    });
  });

  it('keeps the measures of each segment in `verbose_json`', async () => {
    const own = {
      seek: 150,
      tokens: [7, 50_364],
      temperature: 0.2,
      compression_ratio: 1.5,
      no_speech_prob: 0.9,
    };
    upstream.answer(path, json({ ...heard, segments: [segment(1, 2, 'Hello.', own)] }));
    expect(segmentsOf(await verbose())).toEqual([
      { id: 0, start: 1, end: 2, text: 'Hello.', avg_logprob: -0.25, ...own },
    ]);
  });

  it('has no null in `verbose_json` where the upstream reports nothing', async () => {
    const unknown = {
      seek: null,
      tokens: ['x'],
      temperature: null,
      compression_ratio: 'high',
      no_speech_prob: 7,
    };
    const told = segment(1, 2, 'Hello.', { ...unknown, avg_logprob: null });
    upstream.answer(path, json({ ...heard, segments: [told] }));
    expect(segmentsOf(await verbose())).toEqual([
      {
        id: 0,
        seek: 100,
        start: 1,
        end: 2,
        text: 'Hello.',
        tokens: [],
        temperature: 0,
        avg_logprob: 0,
        compression_ratio: expect.any(Number),
        no_speech_prob: 0,
      },
    ]);
  });

  it('has words if the client asks for them, with or without segments', async () => {
    upstream.answer(path, json({ ...heard, words: heardWords }));
    expect(await verbose({ fields: [wordsToo, segmentsToo] })).toMatchObject({
      words: heardWords,
      segments: [{ text: 'Hello there.' }, { text: 'General.' }],
    });
    const onlyWords = await verbose({ fields: [wordsToo] });
    expect(onlyWords).toMatchObject({ words: heardWords });
    expect(onlyWords).not.toHaveProperty('segments');
    expect(await verbose()).not.toHaveProperty('words');
  });

  it('may have its words inside the segments', async () => {
    const [first, last] = [heardWords.slice(0, 2), heardWords.slice(2)];
    const segments = [
      segment(0, 1.5, ' Hello there.', { words: first }),
      segment(2, 4.25, ' General.', { words: last }),
    ];
    upstream.answer(path, json({ ...heard, segments }));
    expect(await verbose({ fields: [wordsToo] })).toMatchObject({ words: heardWords });
  });

  it('may have words alone, which make one segment', async () => {
    const { segments: _, ...others } = heard;
    upstream.answer(path, json({ ...others, words: heardWords }));
    expect(await (await inFormat('srt')).text()).toBe(
      '1\n00:00:00,100 --> 00:00:04,200\nHello there. General.\n\n',
    );
  });

  it('is subtitles in `srt` and `vtt`', async () => {
    expect(await (await inFormat('srt')).text()).toBe(
      '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n00:00:02,000 --> 00:00:04,250\nGeneral.\n\n',
    );
    const vtt = await inFormat('vtt');
    expect(vtt.headers.get('content-type')).toBe('text/vtt; charset=utf-8');
    expect(await vtt.text()).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n00:00:02.000 --> 00:00:04.250\nGeneral.\n\n',
    );
  });

  it('cannot break subtitles with line breaks in its text', async () => {
    upstream.answer(path, json({ ...heard, segments: [segment(0, 1, ' one\n\n2\n00:00 two ')] }));
    expect(await (await inFormat('srt')).text()).toBe(
      '1\n00:00:00,000 --> 00:00:01,000\none 2 00:00 two\n\n',
    );
  });

  it('is streamed as its segments and the whole text', async () => {
    const response = await transcribe({ fields: [['stream', 'true']] });
    expect(await eventsOf(response)).toEqual([
      { type: 'transcript.text.delta', delta: 'Hello there.' },
      { type: 'transcript.text.delta', delta: ' General.' },
      { type: 'transcript.text.done', text: 'Hello there. General.', usage },
    ]);
  });

  it('is streamed with the times of its segments to a client that asks for `verbose_json`', async () => {
    const response = await inFormat('verbose_json', { fields: [['stream', 'true']] });
    const speaker = '';
    expect(await eventsOf(response)).toEqual([
      { type: 'transcript.text.delta', delta: 'Hello there.', segment_id: '0' },
      { type: 'transcript.text.segment', id: '0', start: 0, end: 1.5, text: 'Hello there.', speaker },
      { type: 'transcript.text.delta', delta: ' General.', segment_id: '1' },
      { type: 'transcript.text.segment', id: '1', start: 2, end: 4.25, text: 'General.', speaker },
      { type: 'transcript.text.done', text: 'Hello there. General.', usage },
    ]);
  });

  it('keeps the text of a language without spaces as the upstream joins it', async () => {
    const segments = [segment(0, 1, '你好。'), segment(1, 2, '再见。')];
    upstream.answer(path, json({ language: 'chinese', duration: 2, text: '你好。再见。', segments }));
    expect(await verbose()).toMatchObject({ text: '你好。再见。', language: 'chinese' });
  });

  it('of silence is an empty transcript in every format', async () => {
    upstream.answer(path, json({ text: '', language: 'en', duration: 4.5, segments: [] }));
    expect(await verbose({ fields: [wordsToo, segmentsToo] })).toMatchObject({ text: '', segments: [] });
    expect(await (await inFormat('srt')).text()).toBe('');
    expect(await (await inFormat('vtt')).text()).toBe('WEBVTT\n\n');
    expect(await (await inFormat('text')).text()).toBe('\n');
    const response = await transcribe({ fields: [['stream', 'true']] });
    expect(await eventsOf(response)).toEqual([
      { type: 'transcript.text.done', text: '', usage: expect.anything() },
    ]);
  });
});

describe('the language', () => {
  it.each([
    ['en', undefined, 'english'],
    ['EN_us', undefined, 'english'],
    ['English', undefined, 'english'],
    ['yue', undefined, 'cantonese'],
    ['jw', undefined, 'javanese'],
    ['haitian creole', undefined, 'haitian creole'],
    [undefined, 'de', 'german'],
    [undefined, 'german', 'german'],
    [undefined, undefined, ''],
    ['<script>', undefined, ''],
    [17, undefined, ''],
    ['x'.repeat(5000), undefined, ''],
  ])('%s of the upstream with the hint %s is `%s`', async (language, hint, name) => {
    upstream.answer(path, json({ ...heard, language }));
    const fields: [string, string][] = hint === undefined ? [] : [['language', hint]];
    expect(await verbose({ fields })).toMatchObject({ language: name });
  });
});

describe('an answer without times', () => {
  const bare = json({ text: 'Hello there.' });
  beforeEach(() => upstream.answer(path, bare));

  it.each([
    ['that knows none', textOnly],
    ['that was asked for them', parley],
  ])('of a server %s is the text, with nothing invented', async (_, at) => {
    const usage = { type: 'duration', seconds: 4 };
    expect(await (await inFormat('json', { at })).json()).toEqual({ text: 'Hello there.', usage });
    expect(await (await inFormat('text', { at })).text()).toBe('Hello there.\n');
    expect(await verbose({ at })).toEqual({
      task: 'transcribe',
      language: '',
      duration: 4,
      text: 'Hello there.',
      segments: [],
      usage,
    });
    expect(await eventsOf(await transcribe({ at, fields: [['stream', 'true']] }))).toEqual([
      { type: 'transcript.text.delta', delta: 'Hello there.' },
      { type: 'transcript.text.done', text: 'Hello there.', usage: { type: 'duration', seconds: 4 } },
    ]);
  });

  const cannot: readonly [string, [string, string][], string, string][] = [
    ['srt', [], 'unsupported_response_format', 'response_format'],
    ['vtt', [], 'unsupported_response_format', 'response_format'],
    ['verbose_json', [wordsToo], 'invalid_input', 'timestamp_granularities'],
  ];
  it.each(cannot)('refuses %s at once if the server gives no times', async (format, fields, code, param) => {
    const before = upstream.requests.length;
    const response = await inFormat(format, { at: textOnly, fields });
    expect(await errorOf(response)).toMatchObject({ status: 400, code, param });
    expect(upstream.requests.length).toBe(before);
    expect(await textOnly.recordOf(response)).toMatchObject({ state: 'refused', code });
  });

  it('says what works instead of subtitles', async () => {
    const { message } = await errorOf(await inFormat('srt', { at: textOnly }));
    expect(message).toMatch(/no times.*`json`, `text` or `verbose_json`/);
  });

  it.each(cannot)('fails %s if the times are missing, and costs nothing', async (format, fields) => {
    const response = await inFormat(format, { fields });
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(error.message).toContain('no times');
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', fairUseUnits: 0 });
  });

  it('does not ask for words if the answer would not show them', async () => {
    const response = await inFormat('json', { at: textOnly, fields: [wordsToo] });
    const usage = { type: 'duration', seconds: 4 };
    expect(await response.json()).toEqual({ text: 'Hello there.', usage });
  });
});

describe('impossible times', () => {
  it.each([
    ['before the start', segment(-5, 1)],
    ['with the end before the start', segment(3, 1)],
    ['far beyond the audio', segment(0, 4000)],
    ['no numbers', segment('soon', null)],
    ['not finite', segment('Infinity', 'NaN')],
    ['without a text', segment(0, 1, 5)],
    ['no objects', 'Hello'],
  ])('%s: the text is kept, without segments', async (_, bad) => {
    upstream.answer(path, json({ ...heard, segments: [segment(0, 1), bad] }));
    expect(await verbose()).toMatchObject({ text: 'Hello there. General.', segments: [] });
    expect(await errorOf(await inFormat('srt'))).toMatchObject({ status: 502 });
  });

  it('do not include slightly wrong times, which are corrected', async () => {
    const segments = [segment(2, '30.0', 'two'), segment(-0.02, 1, 'one'), segment(1.5, 1.48, 'and')];
    upstream.answer(path, json({ ...heard, segments }));
    expect(await verbose()).toMatchObject({
      segments: [
        { start: 0, end: 1, text: 'one' },
        { start: 1.5, end: 1.5, text: 'and' },
        { start: 2, end: 30, text: 'two' },
      ],
    });
  });

  it('of words do not affect the segments', async () => {
    upstream.answer(path, json({ ...heard, words: [...heardWords, { word: 'x', start: 9, end: 1 }] }));
    expect(await errorOf(await inFormat('verbose_json', { fields: [wordsToo] }))).toMatchObject({
      status: 502,
    });
    expect(await verbose()).toMatchObject({ segments: [{}, {}] });
  });
});

describe('an answer that is not a transcript is an error, and costs nothing', () => {
  it.each<[string, Answer]>([
    ['a page', whole('<html>upstream words', { headers: { 'content-type': 'text/html' } })],
    ['broken JSON', whole('{"text": "upstr', { headers: { 'content-type': 'application/json' } })],
    ['no object', json(['Hello'])],
    ['an object without a text', json({ language: 'en' })],
    ['a text that is none', json({ text: { upstream: 'words' } })],
    ['nothing', whole('')],
    ['more than can be', json({ text: 'x'.repeat(17 * 1024 * 1024) })],
    ['cut short', resetAt(30, JSON.stringify(heard), { headers: { 'content-type': 'application/json' } })],
    ['a reset', resetAtOnce],
  ])('%s', async (_, answer) => {
    upstream.answer(path, answer);
    const response = await transcribe();
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(error.message).not.toContain('upstream words');
    expect(await parley.recordOf(response)).toMatchObject({
      state: 'failed',
      code: 'upstream_error',
      fairUseUnits: 0,
    });
  });

  it.each([400, 401, 413, 415, 429, 503])('a status of %d is passed on', async (status) => {
    upstream.answer(path, failure(status, { 'retry-after': '9' }));
    const response = await transcribe();
    expect(response.headers.get('retry-after')).toBe('9');
    expect(await errorOf(response)).toMatchObject({ status, code: 'upstream_error' });
    expect(await parley.recordOf(response)).toMatchObject({ httpStatus: status, fairUseUnits: 0 });
  });
});

describe('the length of the audio', () => {
  const charge = async (more: Ask = {}) => {
    const { at = parley } = more;
    const response = await transcribe(more);
    await response.text();
    const { state, audioMsIn, fairUseUnits } = await at.recordOf(response);
    return { state, audioMsIn, fairUseUnits };
  };

  it.each([
    ['longer by the upstream', 4.5, 4500, 75],
    ['shorter by the upstream', 1, 4000, 60],
    ['written in quotes', '4.5', 4500, 75],
    ['not stated', undefined, 4000, 60],
    ['negative', -9, 4000, 60],
    ['beyond belief', 1e12, 4000, 60],
    ['no number', 'long', 4000, 60],
  ])('%s: the longest possible one counts', async (_, duration, audioMsIn, fairUseUnits) => {
    upstream.answer(path, json({ ...heard, duration }));
    expect(await charge()).toEqual({ state: 'ok', audioMsIn, fairUseUnits });
  });

  it("may be in the upstream's usage", async () => {
    upstream.answer(path, json({ text: 'Hello.', usage: { type: 'duration', seconds: 7 } }));
    expect(await charge()).toMatchObject({ audioMsIn: 7000, fairUseUnits: 105 });
  });

  it('is estimated if neither the file nor the upstream states it', async () => {
    upstream.answer(path, json({ text: 'Hello.' }));
    const unknown = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(19_996, 3)]);
    expect(await charge({ file: unknown, at: textOnly })).toEqual({
      state: 'ok',
      audioMsIn: 20_000,
      fairUseUnits: 300,
    });
  });

  it("is the upstream's if the file does not state it", async () => {
    const unknown = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(19_996, 3)]);
    expect(await charge({ file: unknown })).toMatchObject({ audioMsIn: 4500, fairUseUnits: 75 });
  });

  it('is bounded by the samples of a WAV, whatever its header claims', async () => {
    const claims = { channels: 1, sampleRate: 16_000, bitsPerSample: 16 };
    const body = seconds(2).subarray(44);
    for (const dataBytes of [2 ** 32 - 1, 2 ** 31 - 1, 0]) {
      upstream.answer(path, json({ text: 'Hello.', duration: 2 }));
      const file = Buffer.concat([wavHeader({ ...claims, dataBytes }), body]);
      expect(await charge({ file })).toMatchObject({ audioMsIn: expect.closeTo(2000, -2), fairUseUnits: 30 });
    }
  });

  it('is reserved before the upstream is called', async () => {
    const poor = await startBehind(upstream.baseUrl, {
      engine,
      models,
      settings: { fairUse: { trialUnitsPerMonth: 59 } },
    });
    try {
      const before = upstream.requests.length;
      const error = await errorOf(await transcribe({ at: poor }));
      expect(error).toMatchObject({ status: 402, code: 'fair_use_limit_reached' });
      // The request's own reservation does not reduce its remaining limit.
      expect(error.message).toMatch(/needs \d+ fair-use units, and 59 of this month's 59 are left/);
      expect(upstream.requests.length).toBe(before);
      upstream.answer(path, json({ ...heard, duration: 2 }));
      expect(await charge({ at: poor, file: seconds(2) })).toMatchObject({ state: 'ok', fairUseUnits: 30 });
    } finally {
      await poor.close();
    }
  });
});

describe('a client that leaves', () => {
  it('stops the upstream, and costs nothing', async () => {
    upstream.answer(path, silence);
    const leaving = new AbortController();
    const arrived = upstream.nextRequest();
    const key = await parley.newKey({ trial: true });
    const response = transcribe({ init: { ...bearer(key), signal: leaving.signal } });
    const request = await arrived;
    leaving.abort();
    await expect(response).rejects.toThrow();
    await request.aborted;
    await expect
      .poll(async () => (await parley.app.store.usage.list({}, { size: 1, after: undefined })).items[0])
      .toMatchObject({ state: 'cancelled', fairUseUnits: 0, audioMsIn: 4000 });
  });
});

async function eventsOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace(/^data: /, '')));
}

/** Speakers of transcripts: from an upstream that tells them, through a second server, and from models that tell none. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { wavFile } from '../../support/audio-files.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { scratchFolder } from '../../support/command-line.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const models = [{ id: 'hearer', type: 'transcription', engine: 'upstream' }];
const engine = { models: { hearer: 'gpt-4o-transcribe-diarize' } };
const parley = await startBehind(upstream.baseUrl, {
  engine: { ...engine, transcriptionFormat: 'diarized_json' },
  models,
});
const timesOnly = await startBehind(upstream.baseUrl, { engine, models });
const silent = fakeTranscription({
  reportsSpeakers: false,
  async *transcribe() {
    yield { kind: 'done', durationMs: 1, language: '' };
  },
});
const unknowing = await startParley({ engines: withFakes({ transcription: silent }) });
afterAll(async () => {
  await Promise.all([parley.close(), timesOnly.close(), unknowing.close()]);
  await upstream.stop();
});

const segment = (id: string, start: number, end: number, text: string, speaker?: string) => ({
  type: 'transcript.text.segment',
  id,
  start,
  end,
  text,
  ...(speaker !== undefined && { speaker }),
});
const heard = {
  task: 'transcribe',
  duration: 4,
  text: 'Hello. Good morning.',
  segments: [segment('seg_1', 0, 1, 'Hello.', 'agent'), segment('seg_2', 1.5, 4, 'Good morning.', 'A')],
};
const reference = 'data:audio/wav;base64,UklGRg==';

beforeEach(() => upstream.answer('/audio/transcriptions', json(heard)));

function transcribe(fields: readonly [string, string][], at: Parley = parley): Promise<Response> {
  const form = new FormData();
  form.append('file', new File([Buffer.from(wavFile(new Int16Array(4 * 16_000).fill(9)))], 'a.wav'));
  for (const [field, value] of fields) form.append(field, value);
  return at.call('/audio/transcriptions', { method: 'POST', body: form });
}

const formSent = () => {
  const { body, headers } = upstream.requests.at(-1) ?? {};
  const type = headers?.['content-type'] ?? '';
  return new Response(new Uint8Array(body ?? []), { headers: { 'content-type': type } }).formData();
};

describe('an upstream that tells speakers', () => {
  it('gives them in `diarized_json`', async () => {
    const response = await transcribe([['response_format', 'diarized_json']]);
    expect(await response.json()).toEqual({
      task: 'transcribe',
      duration: 4,
      text: 'Hello. Good morning.',
      segments: [segment('0', 0, 1, 'Hello.', 'agent'), segment('1', 1.5, 4, 'Good morning.', 'A')],
      usage: { type: 'duration', seconds: 4 },
    });
    const form = await formSent();
    form.delete('file');
    expect([...form]).toEqual([
      ['model', 'gpt-4o-transcribe-diarize'],
      ['response_format', 'diarized_json'],
      ['chunking_strategy', 'auto'],
    ]);
  });

  it('gets known speakers and how to divide the audio, but no prompt', async () => {
    const strategy = '{"type":"server_vad"}';
    const response = await transcribe([
      ['response_format', 'diarized_json'],
      ['known_speaker_names[]', 'agent'],
      ['known_speaker_references[]', reference],
      ['chunking_strategy', strategy],
      ['prompt', 'Ångström'],
      ['language', 'en'],
    ]);
    expect(response.status).toBe(200);
    const form = await formSent();
    form.delete('file');
    expect(Object.fromEntries(form)).toEqual({
      model: 'gpt-4o-transcribe-diarize',
      language: 'en',
      response_format: 'diarized_json',
      chunking_strategy: strategy,
      'known_speaker_names[]': 'agent',
      'known_speaker_references[]': reference,
    });
  });

  it('gives them in events', async () => {
    const response = await transcribe([
      ['response_format', 'diarized_json'],
      ['stream', 'true'],
    ]);
    const events = (await response.text()).matchAll(/^data: (.*)$/gm);
    expect([...events].map(([, data = '']) => JSON.parse(data))).toEqual([
      { type: 'transcript.text.delta', delta: 'Hello.', segment_id: '0' },
      segment('0', 0, 1, 'Hello.', 'agent'),
      { type: 'transcript.text.delta', delta: ' Good morning.', segment_id: '1' },
      segment('1', 1.5, 4, 'Good morning.', 'A'),
      { type: 'transcript.text.done', text: 'Hello. Good morning.', usage: { type: 'duration', seconds: 4 } },
    ]);
  });

  it('serves every other format, but no times of words', async () => {
    for (const format of ['json', 'text', 'verbose_json', 'srt', 'vtt']) {
      const response = await transcribe([['response_format', format]]);
      expect(await response.text(), format).toContain('Good morning.');
    }
    const words = await transcribe([
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
    ]);
    expect([words.status, (await errorOf(words)).param]).toEqual([400, 'timestamp_granularities']);
  });

  it('fails, and costs nothing, if it leaves out a speaker', async () => {
    upstream.answer(
      '/audio/transcriptions',
      json({ ...heard, segments: [segment('seg_1', 0, 1, 'Hello.')] }),
    );
    const response = await transcribe([['response_format', 'diarized_json']]);
    expect([response.status, (await errorOf(response)).code]).toEqual([502, 'upstream_error']);
  });

  it('serves a second server', async () => {
    const folder = scratchFolder();
    writeFileSync(folder.file('key'), parley.apiKey);
    const far = { kind: 'remote', baseUrl: parley.baseUrl, apiKeyFile: folder.file('key') };
    const second = await startParley({
      settings: { engines: { far }, models: [{ id: 'hearer', type: 'transcription', engine: 'far' }] },
    });
    const response = await transcribe(
      [
        ['response_format', 'diarized_json'],
        ['known_speaker_names[]', 'agent'],
        ['known_speaker_references[]', reference],
      ],
      second,
    );
    expect(await response.json()).toMatchObject({ segments: [{ speaker: 'agent' }, { speaker: 'A' }] });
    expect((await formSent()).get('known_speaker_names[]')).toBe('agent');
    await second.close();
    folder.remove();
  });
});

describe('known speakers', () => {
  const named = (...names: string[]) =>
    names.map((name): [string, string] => ['known_speaker_names[]', name]);
  it.each<[string, [string, string][], string]>([
    ['more than four', named('a', 'b', 'c', 'd', 'e'), 'known_speaker_names'],
    ['an empty name', named(''), 'known_speaker_names'],
    ['a name without a recording', named('a'), 'known_speaker_references'],
    ['a recording without a name', [['known_speaker_references[]', reference]], 'known_speaker_references'],
    [
      'a recording elsewhere',
      [...named('a'), ['known_speaker_references[]', 'https://example.com/a.wav']],
      'known_speaker_references',
    ],
  ])('cannot be %s', async (_, fields, param) => {
    const before = upstream.requests.length;
    const response = await transcribe(fields);
    expect([response.status, await errorOf(response)]).toMatchObject([400, { code: 'invalid_input', param }]);
    expect(upstream.requests.length).toBe(before);
  });
});

describe('a model that tells no speakers', () => {
  it.each([
    ['with times', () => timesOnly],
    ['inside', () => unknowing],
  ])('%s refuses `diarized_json` and known speakers, and ignores how to divide the audio', async (_, at) => {
    const refused = await transcribe([['response_format', 'diarized_json']], at());
    expect([refused.status, await errorOf(refused)]).toMatchObject([
      400,
      { code: 'unsupported_response_format', param: 'response_format' },
    ]);
    const known = await transcribe(
      [
        ['known_speaker_names[]', 'a'],
        ['known_speaker_references[]', reference],
      ],
      at(),
    );
    expect([known.status, await errorOf(known)]).toMatchObject([
      400,
      { code: 'invalid_input', param: 'known_speaker_names' },
    ]);
    expect((await transcribe([['chunking_strategy', 'auto']], at())).status).toBe(200);
  });
});

/** Two transcription models: the active one serves uploads, the other one live sessions. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { LiveClient } from '../../support/live-client.ts';
import { Ear, rate } from '../../support/live-ear.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const files = fakeTranscription({
  async *transcribe() {
    yield { kind: 'audio', durationMs: 1_000 };
    yield { kind: 'done', durationMs: 1_000, language: '', text: 'a recording' };
  },
});
const live = fakeTranscription({ openSpeaker: () => new Ear(() => 'a session').openSpeaker() });

let parley: Parley;
beforeAll(async () => {
  const { builtin } = withFakes({});
  const transcription = (id: string) => (id === 'live' ? live : files);
  parley = await startParley({
    settings: {
      models: [
        { id: 'live', type: 'transcription', engine: 'builtin', liveOnly: true },
        { id: 'files', type: 'transcription', engine: 'builtin' },
      ],
      realtime: [],
    },
    engines: { builtin: { ...builtin, transcription } as typeof builtin & object },
  });
});
afterAll(() => parley.close());

it('lists the active one alone, and uploads are its own, whatever model they name', async () => {
  const listed = (await (await parley.call('/models')).json()) as { data: { id: string }[] };
  expect(listed.data.map(({ id }) => id)).toEqual(['files']);
  expect((await parley.call('/models/live')).status).toBe(404);
  for (const model of ['whisper-1', 'live']) {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(4_000)]), 'speech.wav');
    form.append('model', model);
    const uploaded = await parley.call('/audio/transcriptions', { method: 'POST', body: form });
    expect(await uploaded.json()).toEqual({ text: 'a recording', usage: expect.anything() });
    expect(await parley.recordOf(uploaded)).toMatchObject({ state: 'ok', model: 'files' });
  }
});

it('serves live sessions with the other one, whose turns have its name', async () => {
  const client = new LiveClient(parley);
  client.configure();
  client.speak(new Int16Array(rate));
  client.commit();
  expect((await client.next('turn')).text).toBe('a session');
  expect(await client.finish()).toBeUndefined();
  const ofLive = async () => {
    const { items } = await parley.app.store.usage.list({}, { size: 100, after: undefined });
    return items.filter(({ model, state }) => model === 'live' && state === 'ok').length;
  };
  await expect.poll(ofLive).toBe(2);
  expect((await parley.books()).faults).toEqual([]);
});

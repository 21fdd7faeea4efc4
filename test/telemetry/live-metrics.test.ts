/** The metrics of live speech, apart from those of other requests. */
import { expect, it } from 'vitest';
import { fakeTranscription, withFakes } from '../support/fake-engines.ts';
import { LiveClient } from '../support/live-client.ts';
import { Ear } from '../support/live-ear.ts';
import { startParley } from '../support/parley.ts';

it('count sessions, turns, speech and the delay of its text, and keep them out of the durations of requests', async () => {
  const ear = new Ear();
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  const parley = await startParley({
    engines: withFakes({ transcription }),
    settings: { metrics: { access: 'open' } },
  });
  const metrics = async () => {
    const text = await (await fetch(`${new URL(parley.baseUrl).origin}/metrics`)).text();
    return text.split('\n').filter((line) => line.startsWith('parley_'));
  };
  const client = new LiveClient(parley);
  client.configure();
  for (let turn = 1; turn <= 2; turn++) {
    client.speak(new Int16Array(32_000));
    client.commit();
    await client.next('turn', turn);
  }
  client.speak(new Int16Array(16_000));
  await expect.poll(() => ear.turns.length).toBe(3);
  client.clear();
  await expect.poll(metrics).toContain('parley_live_turns_total{model="pocketsphinx",state="cancelled"} 1');
  const during = await metrics();
  expect(during).toContain('parley_live_sessions 1');
  expect(during).toContain('parley_live_turns_total{model="pocketsphinx",state="ok"} 2');
  expect(during).toContain('parley_live_speech_seconds_total{model="pocketsphinx"} 5');
  expect(during).toContain('parley_live_final_seconds_count 2');
  expect(await client.finish()).toBeUndefined();
  await expect.poll(metrics).toContain('parley_live_sessions 0');
  expect((await metrics()).filter((line) => line.startsWith('parley_request_duration_seconds'))).toEqual([]);
  await parley.close();
});

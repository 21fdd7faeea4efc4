/** Clients of a live session that send faster, or read slower, than the server works. */
import { afterAll, describe, expect, it } from 'vitest';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { Ear } from '../../support/live-ear.ts';
import { startParley } from '../../support/parley.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';

const manually = { audio: { input: { turn_detection: null } } };
const held = Promise.withResolvers<void>();
const ear = new Ear();

const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
const parley = await startParley({
  engines: withFakes({ transcription }),
  settings: { metrics: { access: 'open' } },
});
afterAll(async () => {
  held.resolve();
  await parley.close();
});

async function bufferedBytes(): Promise<number> {
  const text = await (await fetch(`${new URL(parley.baseUrl).origin}/metrics`)).text();
  return Number(/^parley_buffered_bytes (\d+)$/m.exec(text)?.[1]);
}

async function openSessions(): Promise<number> {
  const { items } = await parley.app.store.usage.list({}, { size: 50, after: undefined });
  return items.filter(({ state }) => state === 'started').length;
}

/** As many turns as may wait for their texts do, so that audio waits. */
async function openWaiting(): Promise<RealtimeClient> {
  await expect.poll(openSessions).toBe(0);
  ear.goesOn = held.promise;
  const client = new RealtimeClient(parley);
  await client.configure(manually);
  for (let turn = 0; turn < 4; turn++) {
    client.speak(0.1);
    client.send({ type: 'input_audio_buffer.commit' });
  }
  await client.next('input_audio_buffer.committed', 4);
  client.speak(0.1);
  return client;
}
describe('a client that is ahead of the server', () => {
  it('is noticed when it leaves while its audio waits', async () => {
    const client = await openWaiting();
    client.speak(0.5);
    client.socket.close();
    await expect.poll(openSessions).toBe(0);
  });

  it('is noticed when it vanishes, though nothing more is read', async () => {
    const client = await openWaiting();
    client.speak(20);
    await expect.poll(bufferedBytes).toBeGreaterThan(131_072);
    expect(await bufferedBytes()).toBeLessThan(1_048_576);
    client.socket.terminate();
    await expect.poll(openSessions, { timeout: 20_000 }).toBe(0);
    await expect.poll(bufferedBytes).toBe(0);
  });

  it('is not read on behind many small messages either', async () => {
    const client = await openWaiting();
    for (let sent = 0; sent < 2_000; sent++) client.socket.send('{}');
    await expect.poll(bufferedBytes).toBeGreaterThan(131_072);
    expect(await bufferedBytes()).toBeLessThan(1_048_576);
    client.socket.terminate();
    await expect.poll(openSessions, { timeout: 20_000 }).toBe(0);
  });

  it('is disconnected when it reads nothing of what it gets', async () => {
    const client = new RealtimeClient(parley);
    await client.configure(manually);
    client.socket.pause();
    const ping = Buffer.alloc(125);
    for (let many = 0; many < 400 && (await openSessions()) > 0; many++) {
      for (let at = 0; at < 1_000; at++) client.socket.ping(ping);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(openSessions).toBe(0);
    client.socket.terminate();
  });
});

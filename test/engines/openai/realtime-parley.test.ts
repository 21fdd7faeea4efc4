/** A Parley relays live speech to another, which recognises it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AudioEncoding } from '../../../gen/parley/audio/v1/live_pb.ts';
import { missingHearing } from '../../../src/media/hearing-files.ts';
import { missingPrograms, speak } from '../../support/audio-files.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { LiveClient } from '../../support/live-client.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const missing = missingHearing() ?? missingPrograms('flite');
const spokenWords = 'glue the sheet to the dark blue background';

let inner: Parley;
let outer: Parley;
let spoken: Int16Array;

describe.skipIf(missing)(`a relay to another Parley${missing ? `: ${missing}` : ''}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-inner-key-'));
  const settings = { fairUse: { transcriptionUnitsPerSecond: 1 } };

  async function relayTo(server: Parley, engine: object = {}): Promise<Parley> {
    const apiKeyFile = join(folder, 'key');
    writeFileSync(apiKeyFile, server.apiKey);
    return startBehind(server.baseUrl, {
      engine: { apiKeyFile, realtime: true, models: { hearer: 'pocketsphinx' }, ...engine },
      models: [{ id: 'hearer', type: 'transcription', engine: 'upstream' }],
      settings,
    });
  }

  beforeAll(async () => {
    inner = await startParley({ settings });
    outer = await relayTo(inner);
    spoken = await speak(spokenWords);
  });
  afterAll(async () => {
    await outer.close();
    await inner.close();
    rmSync(folder, { recursive: true });
  });

  const units = async (parley: Parley) => (await parley.books()).units.map(({ used }) => used);

  it('hears a committed turn as the other does itself, with units on both', async () => {
    const [own, relayed] = [new LiveClient(inner), new LiveClient(outer)];
    for (const client of [own, relayed]) {
      client.configure();
      client.speak(spoken);
      client.commit();
    }
    const { text, seconds } = await own.next('turn');
    const turn = await relayed.next('turn');
    expect(text.split(' ').filter((word) => spokenWords.includes(word)).length).toBeGreaterThan(5);
    // The audio has been at 24 kHz in the meantime.
    const [heard, heardByOther] = [turn.text, text].map((each) => each.split(' '));
    expect(heard?.filter((word) => heardByOther?.includes(word)).length).toBeGreaterThan(5);
    expect(turn.seconds).toBe(seconds);
    expect([await own.finish(), await relayed.finish()]).toEqual([undefined, undefined]);
    const perTurn = Math.ceil(seconds);
    expect(await units(outer)).toEqual([perTurn]);
    await expect.poll(() => units(inner)).toEqual([2 * perTurn]);
  });

  it.each(['pcmu', 'pcma'])('finds the turns itself, and relays them as %s', async (realtimeFormat) => {
    const other = await relayTo(inner, { realtimeFormat });
    const client = new LiveClient(other);
    client.configure({ encoding: AudioEncoding.PCM16, turnDetection: { silenceMs: 500 } });
    client.speak(spoken);
    client.speak(new Int16Array(16_000));
    expect((await client.next('turn')).text.split(' ').length).toBeGreaterThan(4);
    expect(await client.finish()).toBeUndefined();
    await other.close();
  });

  it('ends the session of the other with its own', async () => {
    const client = new LiveClient(outer);
    client.configure();
    const open = async () => {
      const { items } = await inner.app.store.usage.list({}, { size: 100, after: undefined });
      return items.filter(({ state }) => state === 'started').length;
    };
    await expect.poll(open).toBe(1);
    client.leave();
    await expect.poll(open).toBe(0);
  });
});

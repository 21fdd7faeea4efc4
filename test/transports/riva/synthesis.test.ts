/** Speech of Riva's clients. */
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RivaSpeechSynthesis } from '../../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import type { SpeechRequest } from '../../../src/core/entities/engine.ts';
import { fakeSpeech, withFakes } from '../../support/fake-engines.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { codeOf, RivaStream, speechSynthesis, transportTo } from '../../support/riva-client.ts';

const tone = (samples: number) => {
  const wave = Int16Array.from({ length: samples }, (_, at) => 8_000 * Math.sin(at / 10));
  return new Uint8Array(wave.buffer);
};

let parley: Parley;
/** The requests that reached the engine, and the audio of each in pieces. */
let asked: SpeechRequest[];
let pieces: Uint8Array[];
let goOn: Promise<void>;

beforeEach(async () => {
  asked = [];
  pieces = [tone(24_000)];
  goOn = Promise.resolve();
  const speech = fakeSpeech({
    voices: () => ({
      voices: [
        { id: 'one', language: 'en-US' },
        { id: 'two', language: 'en-GB' },
      ],
      defaultVoice: 'one',
    }),
    synthesize: (request) => {
      asked.push(request);
      const given = pieces;
      const audio = (async function* () {
        for (const piece of given) {
          yield piece;
          await goOn;
        }
      })();
      return { audio, durationMs: () => 1_000 };
    },
  });
  parley = await startParley({ engines: withFakes({ speech }) });
});
afterEach(() => parley.close());

class Texts extends RivaStream<typeof RivaSpeechSynthesis.method.synthesizeOnline> {
  constructor() {
    super(speechSynthesis(parley).synthesizeOnline);
  }

  get bytes() {
    return this.received.reduce((sum, { audio }) => sum + audio.length, 0);
  }
}

describe('Synthesize', () => {
  it.each([8_000, 16_000, 22_050, 24_000, 44_100, 48_000])(
    'gives a second of audio at %d Hz',
    async (sampleRateHz) => {
      // The pieces of an engine may end within a sample.
      const whole = tone(24_000);
      pieces = [whole.subarray(0, 1_001), whole.subarray(1_001)];
      const { audio, id } = await speechSynthesis(parley).synthesize({
        text: 'Hello.',
        sampleRateHz,
        id: { value: 'mine' },
      });
      expect(audio.length).toBe(2 * sampleRateHz);
      expect(id?.value).toBe('mine');
      if (sampleRateHz === 24_000) expect(Buffer.compare(audio, whole)).toBe(0);
      const { items } = await parley.app.store.usage.list({}, { size: 10, after: undefined });
      expect(items).toMatchObject([{ state: 'ok', characters: 6, fairUseUnits: 6 }]);
    },
  );

  it('refuses audio that clients would not accept in one message, and charges nothing', async () => {
    pieces = Array.from({ length: 90 }, () => tone(24_000));
    const error: unknown = await speechSynthesis(parley)
      .synthesize({ text: 'Hello.' })
      .catch((thrown: unknown) => thrown);
    expect([codeOf(error), String(error)]).toEqual([
      'input_too_long',
      expect.stringContaining('SynthesizeOnline'),
    ]);
    const { units } = await parley.books();
    expect(units.map(({ used, reserved }) => used + reserved)).toEqual([0]);
    const texts = new Texts();
    texts.send({ text: 'Hello.' });
    expect(await texts.finish()).toBeUndefined();
    expect(texts.bytes).toBe(90 * 48_000);
  });

  it.each([
    [{}, 'one'],
    [{ languageCode: 'en-US' }, 'one'],
    [{ languageCode: 'EN-gb' }, 'two'],
    [{ languageCode: 'en-AU' }, 'one'],
    [{ voiceName: 'flite', languageCode: 'de-DE' }, 'one'],
    [{ voiceName: 'flite.two' }, 'two'],
    [{ voiceName: 'two' }, 'two'],
  ])('with %j has the voice %s', async (wanted, voice) => {
    await speechSynthesis(parley).synthesize({ text: 'Hello.', ...wanted });
    expect(asked).toMatchObject([{ voice, format: 'pcm', input: 'Hello.' }]);
  });
});

describe('SynthesizeOnline', () => {
  it('sends audio as it is produced, and takes further texts meanwhile', async () => {
    const held = Promise.withResolvers<void>();
    goOn = held.promise;
    const texts = new Texts();
    texts.send({ text: 'One.', id: { value: 'first' } });
    await expect.poll(() => texts.bytes).toBe(48_000);
    texts.send({ text: 'Two.', id: { value: 'second' } });
    held.resolve();
    expect(await texts.finish()).toBeUndefined();
    expect(asked.map(({ input }) => input)).toEqual(['One.', 'Two.']);
    expect(texts.received.map(({ id }) => id?.value)).toEqual(['first', 'second']);
  });

  it('asks the gate again for each text', async () => {
    const texts = new Texts();
    texts.send({ text: 'One.' });
    await expect.poll(() => texts.bytes).toBe(48_000);
    await expect.poll(async () => (await parley.books()).units[0]?.used).toBe(4);
    const { accounts } = parley.app.services;
    const [{ keyId } = { keyId: '' }] = (await parley.app.store.usage.list({}, { size: 1, after: undefined }))
      .items;
    await accounts.revokeKey(create(keyPb.RevokeKeyRequestSchema, { keyId }), cliCall);
    texts.send({ text: 'Two.' });
    expect(await texts.ended).toBe('invalid_api_key');
    expect(asked).toHaveLength(1);
  });

  it('ends after the current text when the server stops', async () => {
    const held = Promise.withResolvers<void>();
    goOn = held.promise;
    const texts = new Texts();
    texts.send({ text: 'One.' });
    await expect.poll(() => texts.bytes).toBe(48_000);
    parley.app.services.realtime.drain();
    held.resolve();
    expect(await texts.ended).toBe('overloaded');
    const records = async () => {
      const { items } = await parley.app.store.usage.list({}, { size: 10, after: undefined });
      return items.map(({ state, fairUseUnits }) => `${state} ${fairUseUnits}`).toSorted();
    };
    await expect.poll(records).toEqual(['failed 0', 'ok 4']);
  });

  it('counts as one concurrent request, whatever its texts', async () => {
    const limits = { concurrentRequests: 1 };
    const request = create(pb.SetAccountLimitsRequestSchema, { accountId: parley.accountId, limits });
    await parley.app.services.accounts.setAccountLimits(request, cliCall);
    const one = new Texts();
    one.send({ text: 'One.' });
    one.send({ text: 'Two.' });
    await expect.poll(() => one.received.length).toBe(2);
    expect(await new Texts().finish()).toBe('rate_limit_exceeded');
    expect(await one.finish()).toBeUndefined();
  });
});

describe('GetRivaSynthesisConfig', () => {
  const keyless = (server: Parley) =>
    createClient(RivaSpeechSynthesis, transportTo({ ...server, apiKey: undefined }));

  it('needs a key', async () => {
    const error: unknown = await keyless(parley)
      .getRivaSynthesisConfig({})
      .catch((thrown: unknown) => thrown);
    expect(codeOf(error)).toBe('invalid_api_key');
  });

  it('needs none where voices are open, and leaves records of those who send one', async () => {
    const open = await startParley({ settings: { voices: { access: 'open' } } });
    const { modelConfig } = await keyless(open).getRivaSynthesisConfig({});
    expect(modelConfig.map(({ modelName }) => modelName)).toEqual(['flite']);
    await speechSynthesis(open).getRivaSynthesisConfig({});
    const unknown: unknown = await speechSynthesis({ ...open, apiKey: 'pk_x' })
      .getRivaSynthesisConfig({})
      .catch((thrown: unknown) => thrown);
    expect(codeOf(unknown)).toBe('invalid_api_key');
    const { items } = await open.app.store.usage.list({}, { size: 10, after: undefined });
    await open.close();
    expect(items).toMatchObject([{ operation: 'catalog', state: 'ok' }]);
  });
});

import { describe, expect, it } from 'vitest';
import { ModelLists } from '../../../src/core/catalog/service.ts';
import type { SpeechEngine, VoiceList } from '../../../src/core/entities/engine.ts';
import type { CatalogModel } from '../../../src/core/entities/model.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { fakeChat } from '../../support/fake-engines.ts';

const facts = { createdAtSeconds: 1, ownedBy: 'parley', description: undefined };

function speechModel(id: string, voices: () => VoiceList): CatalogModel {
  const engine: SpeechEngine = {
    availability: () => ({ available: true }),
    voices,
    check: () => undefined,
    synthesize: () => {
      throw new Error('nothing is said here');
    },
  };
  return { ...facts, id, type: 'speech', engine, voiceNames: undefined, defaultVoice: undefined };
}

const anna: VoiceList = { voices: [{ id: 'anna', language: 'en' }], defaultVoice: 'anna' };
const berta: VoiceList = { voices: [{ id: 'berta', language: 'de' }], defaultVoice: 'berta' };

describe('the lists of models', () => {
  const lists = new ModelLists();
  const one = speechModel('one', () => anna);
  const two = speechModel('two', () => anna);

  it('are the same object for the same models, and a different one for others', () => {
    const both = lists.of([one, two]);
    expect(both.data.map(({ id }) => id)).toEqual(['one', 'two']);
    expect(lists.of([two]).data.map(({ id }) => id)).toEqual(['two']);
    expect(lists.of([two, one]).data.map(({ id }) => id)).toEqual(['two', 'one']);
    expect(lists.of([one, two])).toBe(both);
    expect(lists.of([]).data).toEqual([]);
  });

  it('show new voices as soon as an engine reports them', () => {
    let offered = anna;
    const changing = speechModel('changing', () => offered);
    expect(lists.of([changing]).data[0]?.voices).toEqual(['anna']);
    offered = berta;
    expect(lists.of([changing]).data[0]).toMatchObject({ voices: ['berta'], defaultVoice: 'berta' });
  });

  it('show the context that an upstream reports now', () => {
    let contextTokens = 8_192;
    const chat: CatalogModel = {
      ...facts,
      id: 'chat',
      type: 'chat',
      engine: fakeChat({}),
      price: { inputPerMillion: nanoCredits(0n), outputPerMillion: nanoCredits(0n) },
      thinking: 'none',
      systemMessages: undefined,
      get contextTokens() {
        return contextTokens;
      },
      outputTokensMax: 1_000,
    };
    expect(lists.of([chat]).data[0]?.contextWindow).toBe(8_192);
    contextTokens = 4_096;
    expect(lists.of([chat]).data[0]?.contextWindow).toBe(4_096);
  });

  it('are right for more kinds of callers than the cache has entries', () => {
    const models = Array.from({ length: 100 }, (_, index) => speechModel(`m${index}`, () => anna));
    for (const model of [...models, ...models]) expect(lists.of([model]).data[0]?.id).toBe(model.id);
  });
});

import { describe, expect, it } from 'vitest';
import { configOf, readUpdate, settingsFor } from '../../../src/transports/realtime/session-settings.ts';

const opened = (query = 'intent=transcription') => settingsFor(new URLSearchParams(query));
const input = (members: object) => ({ audio: { input: members } });
const read = (session: unknown, query?: string) => configOf(readUpdate(opened(query), session));

describe('the settings of a session', () => {
  it.each([
    ['nothing', {}, { encoding: 'pcm16', sampleRate: 24_000, detection: { silenceMs: 500, prefixMs: 300 } }],
    ['mu-law', input({ format: { type: 'audio/pcmu' } }), { encoding: 'mulaw', sampleRate: 8_000 }],
    ['A-law, as in the beta', { input_audio_format: 'g711_alaw' }, { encoding: 'alaw', sampleRate: 8_000 }],
    ['no detection', input({ turn_detection: null }), { detection: undefined }],
    ['no detection, as in the beta', { turn_detection: null }, { detection: undefined }],
    ['a language', input({ transcription: { language: 'en' } }), { language: 'en' }],
    [
      'times',
      input({ turn_detection: { type: 'server_vad', silence_duration_ms: 900, prefix_padding_ms: 0 } }),
      { detection: { silenceMs: 900, prefixMs: 0 } },
    ],
    [
      'a longer silence for semantic detection',
      input({ turn_detection: { type: 'semantic_vad', eagerness: 'low' } }),
      { detection: { silenceMs: 2_000 } },
    ],
  ])('take %s', (_, session, config) => expect(read(session)).toMatchObject(config));

  it('find no turns for models whose clients commit, unless they ask', () => {
    const model = { transcription: { model: 'gpt-realtime-whisper' } };
    expect(read(input(model)).detection).toBeUndefined();
    expect(read({}, 'model=gpt-live-transcribe-1').detection).toBeUndefined();
    expect(read(input({ ...model, turn_detection: { type: 'server_vad' } })).detection).toBeDefined();
  });

  it.each([
    ['session', undefined],
    ['format', input({ format: { type: 'audio/mp3' } })],
    ['rate', input({ format: { type: 'audio/pcm', rate: 16_000 } })],
    ['turn_detection', input({ turn_detection: 'none' })],
    ['turn_detection', input({ turn_detection: { type: 'magic' } })],
    ['eagerness', input({ turn_detection: { type: 'semantic_vad', eagerness: 'much' } })],
    ['silence_duration_ms', input({ turn_detection: { silence_duration_ms: 5 } })],
    ['prefix_padding_ms', input({ turn_detection: { prefix_padding_ms: 'long' } })],
    ['model', input({ transcription: { model: 5 } })],
  ])('refuse a wrong `%s` by its name', (param, session) => {
    expect(() => read(session)).toThrow(expect.objectContaining({ code: 'invalid_input', param }));
  });
});

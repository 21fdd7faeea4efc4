/** A Parley in front of another over REST: speech and transcripts of the inner one arrive unchanged. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../../src/media/hearing-files.ts';
import { missingPrograms, speak, wavFile } from '../../support/audio-files.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { scratchPath } from '../../support/scratch-path.ts';

const missing = missingHearing() ?? missingPrograms('flite');
if (missing !== undefined) process.stderr.write(`upstream-parley.test.ts is skipped in part: ${missing}\n`);

const folder = scratchPath('inner-key');
const apiKeyFile = join(folder, 'key');
const inner = await startParley();
writeFileSync(apiKeyFile, inner.apiKey);
const outer = await startBehind(inner.baseUrl, {
  engine: { apiKeyFile, models: { speaker: 'flite', hearer: 'pocketsphinx' } },
  models: [
    { id: 'speaker', type: 'speech', engine: 'upstream' },
    { id: 'hearer', type: 'transcription', engine: 'upstream' },
  ],
});
afterAll(async () => {
  await outer.close();
  await inner.close();
});

interface SpeechModel {
  readonly voices: readonly string[];
  readonly voiceDetails: readonly object[];
  readonly defaultVoice: string;
}

async function speechModelOf(parley: Parley): Promise<SpeechModel | undefined> {
  const { data } = (await (await parley.call('/models?type=speech')).json()) as { data: SpeechModel[] };
  return data[0];
}

it('offers the voices of the inner one, with their languages and its default', async () => {
  await expect.poll(() => speechModelOf(outer), { timeout: 10_000 }).toBeDefined();
  const { voices, voiceDetails, defaultVoice } = (await speechModelOf(inner)) ?? {};
  expect(voices?.length).toBeGreaterThan(1);
  expect(await speechModelOf(outer)).toMatchObject({ id: 'speaker', voices, voiceDetails, defaultVoice });
});

describe('speech', () => {
  it.each(['mp3', 'opus', 'flac', 'wav', 'pcm'])('arrives intact as %s', async (response_format) => {
    const request = { input: 'The rain has stopped, and the road is dry.', voice: 'rms', response_format };
    const [own, relayed] = await Promise.all([
      inner.postJson('/audio/speech', { ...request, model: 'flite' }),
      outer.postJson('/audio/speech', { ...request, model: 'speaker' }),
    ]);
    expect(relayed.headers.get('content-type')).toBe(own.headers.get('content-type'));
    const [expected, bytes] = await Promise.all([own.arrayBuffer(), relayed.arrayBuffer()]);
    expect(bytes.byteLength).toBeGreaterThan(5_000);
    // The serial number of an Ogg stream is random.
    if (response_format === 'opus') expect(bytes.byteLength).toBe(expected.byteLength);
    else expect(Buffer.from(bytes).equals(Buffer.from(expected))).toBe(true);
    expect(await outer.recordOf(relayed)).toMatchObject({ state: 'ok', fairUseUnits: 42 });
  });
});

describe.skipIf(missing !== undefined)('transcription', () => {
  const transcribe = async (parley: Parley, file: Uint8Array) => {
    const form = new FormData();
    form.append('file', new File([Buffer.from(file)], 'a.wav'));
    form.append('response_format', 'verbose_json');
    for (const times of ['segment', 'word']) form.append('timestamp_granularities[]', times);
    const response = await parley.call('/audio/transcriptions', { method: 'POST', body: form });
    const transcript = (await response.json()) as { text: string; words: readonly object[] };
    return { transcript, record: await parley.recordOf(response) };
  };

  it('arrives unchanged with all times, and counts the same', async () => {
    const file = wavFile(
      await speak('A light rain had fallen during the night, and the stones were still wet.'),
    );
    const heard = await transcribe(inner, file);
    expect(heard.transcript.words.length).toBeGreaterThan(8);
    const relayed = await transcribe(outer, file);
    expect(relayed.transcript).toEqual(heard.transcript);
    const { audioMsIn = 0, fairUseUnits } = heard.record;
    expect(relayed.record).toMatchObject({ state: 'ok', fairUseUnits });
    // Decoders round the duration in a header.
    expect(Math.abs((relayed.record.audioMsIn ?? 0) - audioMsIn)).toBeLessThan(20);
  });
});

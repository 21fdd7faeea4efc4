/** Live speech of Riva's clients. The detector of voices is the real one, the recogniser is not. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  RecognitionConfigSchema,
  type RivaSpeechRecognition,
} from '../../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { AudioEncoding } from '../../../gen/nvidia/riva/riva_audio_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { joinSamples, missingPrograms, soundBounds, speak, wavFile } from '../../support/audio-files.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { Ear } from '../../support/live-ear.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { codeOf, RivaStream, speechRecognition } from '../../support/riva-client.ts';

const missing = missingPrograms('flite');
const hello = missing ? new Int16Array() : await speak('hello my friend');

let ear: Ear;
let parley: Parley;
beforeEach(async () => {
  ear = new Ear();
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  parley = await startParley({
    settings: { fairUse: { transcriptionUnitsPerSecond: 1 } },
    engines: withFakes({ transcription }),
  });
});
afterEach(() => parley.close());

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

class Speaker extends RivaStream<typeof RivaSpeechRecognition.method.streamingRecognize> {
  constructor() {
    super(speechRecognition(parley).streamingRecognize);
  }

  configure(wanted: MessageInitShape<typeof RecognitionConfigSchema> = {}, interimResults = false): void {
    const config = create(RecognitionConfigSchema, { encoding: AudioEncoding.LINEAR_PCM, ...wanted });
    const value = { config, interimResults };
    this.send({ streamingRequest: { case: 'streamingConfig', value }, id: { value: 'mine' } });
  }

  speak(audio: Uint8Array): void {
    for (let at = 0; at < audio.length; at += 3_200) {
      const value = audio.slice(at, at + 3_200);
      this.send({ streamingRequest: { case: 'audioContent', value } });
    }
  }

  get results() {
    return this.received.flatMap(({ results }) => results);
  }

  get texts() {
    return this.results.map(({ alternatives }) => alternatives[0]?.transcript);
  }
}

const unitsUsed = async () => {
  const { units } = await parley.books();
  return units.reduce((sum, { used, reserved }) => sum + used + reserved, 0);
};

async function endedStates(count: number) {
  const states = async () => {
    const { items } = await parley.app.store.usage.list({}, { size: 100, after: undefined });
    return items.map(({ state }) => state).filter((state) => state !== 'started');
  };
  await expect.poll(async () => (await states()).length).toBe(count);
  return states();
}

describe.skipIf(missing)(`StreamingRecognize${missing ? `: ${missing}` : ''}`, () => {
  it.each([
    [320, 2],
    [1_000, 1],
  ])('ends an utterance after %d ms of silence, if the client says so', async (stopHistory, utterances) => {
    const speaker = new Speaker();
    speaker.configure({ endpointingConfig: { stopHistory } });
    const { startMs, endMs } = soundBounds(hello);
    const sound = hello.slice(startMs * 16, endMs * 16);
    speaker.speak(bytesOf(joinSamples(sound, 600, sound)));
    expect(await speaker.finish()).toBeUndefined();
    expect(speaker.results).toHaveLength(utterances);
    expect(speaker.results.every(({ isFinal }) => isFinal)).toBe(true);
  });

  it('ends finals with a space, and has the times of their words only where they are wanted', async () => {
    const [plain, timed] = [new Speaker(), new Speaker()];
    plain.configure();
    timed.configure({ enableWordTimeOffsets: true });
    for (const speaker of [plain, timed]) {
      speaker.speak(bytesOf(joinSamples(1_000, hello)));
      expect(await speaker.finish()).toBeUndefined();
      expect(speaker.texts).toEqual([expect.stringMatching(/^heard [\d.]+ s $/)]);
      expect(speaker.received[0]?.id?.value).toBe('mine');
    }
    expect(plain.results[0]?.alternatives[0]?.words).toEqual([]);
    const [result] = timed.results;
    const [word] = result?.alternatives[0]?.words ?? [];
    expect(word).toMatchObject({ word: 'heard', confidence: 0.5 });
    // Times count from the first sample of the stream, which begins with silence.
    expect(word?.startTime).toBeGreaterThan(500);
    expect((word?.endTime ?? 0) - (word?.startTime ?? 0)).toBe(500);
    expect(result?.audioProcessed).toBeGreaterThan(1.5);
  });

  it.each([
    ['with interim results has been sent text, and pays', true, 1],
    ['without interim results has been sent nothing, and pays nothing', false, 0],
  ])('a client that leaves %s', async (_, interimResults, paid) => {
    // A client that leaves may end its side first.
    ear.goesOn = new Promise(() => undefined);
    const speaker = new Speaker();
    speaker.configure({}, interimResults);
    speaker.speak(bytesOf(hello));
    await expect.poll(() => ear.turns[0]?.seconds ?? 0).toBeGreaterThan(0.5);
    ear.turns[0]?.options.onPartial('hello my');
    if (interimResults) {
      await expect.poll(() => speaker.texts).toEqual(['hello my']);
      expect(speaker.results[0]).toMatchObject({ isFinal: false, stability: 0, channelTag: 1 });
    }
    speaker.leave();
    expect(await endedStates(2)).toEqual(['cancelled', 'cancelled']);
    expect((await unitsUsed()) > 0).toBe(paid > 0);
    expect(speaker.results).toHaveLength(paid);
  });

  it('reads the form of the samples from the header of a WAV file', async () => {
    const speaker = new Speaker();
    speaker.configure({ encoding: AudioEncoding.ENCODING_UNSPECIFIED, sampleRateHertz: 8_000 });
    speaker.speak(wavFile(hello));
    expect(await speaker.finish()).toBeUndefined();
    // As samples of 8 kHz they would last twice as long.
    expect(ear.turns[0]?.seconds).toBeCloseTo(hello.length / 16_000, 0);
  });

  it('ends with the error of a turn that fails, after the text of the turn before', async () => {
    const speaker = new Speaker();
    speaker.configure();
    const held = Promise.withResolvers<void>();
    ear.goesOn = held.promise;
    speaker.speak(bytesOf(joinSamples(hello, 700)));
    await expect.poll(() => ear.turns.length).toBe(1);
    speaker.speak(bytesOf(joinSamples(hello)));
    await expect.poll(() => ear.turns.length).toBe(2);
    ear.turns[1]?.options.onFailure(new ParleyError('upstream_error'));
    held.resolve();
    expect(await speaker.ended).toBe('upstream_error');
    expect(speaker.results).toHaveLength(1);
    expect((await endedStates(3)).toSorted()).toEqual(['failed', 'failed', 'ok']);
  });

  it('refuses a message of more than 64 KiB of audio', async () => {
    const speaker = new Speaker();
    speaker.configure();
    speaker.send({ streamingRequest: { case: 'audioContent', value: new Uint8Array(65_537) } });
    expect(await speaker.ended).toBe('payload_too_large');
  });
});

describe('Recognize', () => {
  it('is refused if the model reports no times, in the words of Riva', async () => {
    const other = await startParley({
      engines: withFakes({ transcription: fakeTranscription({ reportsTimes: false }) }),
    });
    const config = { enableWordTimeOffsets: true };
    const error: unknown = await speechRecognition(other)
      .recognize({ config, audio: wavFile(new Int16Array(100)) })
      .catch((thrown: unknown) => thrown);
    await other.close();
    expect(codeOf(error)).toBe('invalid_input');
    expect(String(error)).toContain('enable_word_time_offsets');
    expect(String(error)).not.toContain('granularities');
  });
});

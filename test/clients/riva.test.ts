/** A client of NVIDIA Riva on grpc-js, with the engines inside Parley: it speaks a sentence, and has it transcribed. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterAll, describe, expect, it } from 'vitest';
import * as asr from '../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { AudioEncoding } from '../../gen/nvidia/riva/riva_audio_pb.ts';
import * as tts from '../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { startParley } from '../support/parley.ts';

const missing = missingHearing();
const sampleRate = 16_000;
const sentence = 'It is good to hear from you.';
const heard = /good to hear from you/;
/** 100 ms. */
const chunkBytes = 3_200;

const metadata = new Metadata();
const parley = await startParley();
const client = new Client(new URL(parley.baseUrl).host, credentials.createInsecure());
metadata.set('authorization', `Bearer ${parley.apiKey}`);
afterAll(async () => {
  client.close();
  await parley.close();
});

const encode = (schema: DescMessage) => (message: MessageShape<typeof schema>) =>
  Buffer.from(toBinary(schema, message));
const decode =
  <S extends DescMessage>(schema: S) =>
  (bytes: Buffer) =>
    fromBinary(schema, bytes);

function call<I extends DescMessage, O extends DescMessage>(
  path: string,
  [input, output]: readonly [I, O],
  request: MessageInitShape<I>,
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      encode(input),
      decode(output),
      create(input, request),
      metadata,
      (error, answer) => (answer ? resolve(answer) : reject(error)),
    );
  });
}

function stream<I extends DescMessage, O extends DescMessage>(
  path: string,
  [input, output]: readonly [I, O],
) {
  return client.makeBidiStreamRequest<MessageShape<I>, MessageShape<O>>(
    path,
    encode(input),
    decode(output),
    metadata,
  );
}

async function speak(...texts: readonly string[]): Promise<Buffer> {
  const schemas = [tts.SynthesizeSpeechRequestSchema, tts.SynthesizeSpeechResponseSchema] as const;
  const online = stream('/nvidia.riva.tts.RivaSpeechSynthesis/SynthesizeOnline', schemas);
  for (const text of texts) {
    const request = {
      text,
      voiceName: 'flite.rms',
      sampleRateHz: sampleRate,
      encoding: AudioEncoding.LINEAR_PCM,
    };
    online.write(create(tts.SynthesizeSpeechRequestSchema, request));
  }
  online.end();
  const parts: Uint8Array[] = [];
  for await (const { audio } of online as AsyncIterable<tts.SynthesizeSpeechResponse>) parts.push(audio);
  return Buffer.concat(parts);
}

describe.skipIf(missing)(`a client of Riva${missing ? `: ${missing}` : ''}`, () => {
  it('speaks, and hears what it has spoken, live and as a recording', async () => {
    const samples = await speak(sentence);
    const config = {
      encoding: AudioEncoding.LINEAR_PCM,
      sampleRateHertz: sampleRate,
      languageCode: 'en-US',
      enableWordTimeOffsets: true,
    };
    const { results } = await call(
      '/nvidia.riva.asr.RivaSpeechRecognition/Recognize',
      [asr.RecognizeRequestSchema, asr.RecognizeResponseSchema],
      { config, audio: samples },
    );
    expect(results[0]?.alternatives[0]?.transcript).toMatch(heard);

    const schemas = [asr.StreamingRecognizeRequestSchema, asr.StreamingRecognizeResponseSchema] as const;
    const live = stream('/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize', schemas);
    const send = (
      streamingRequest: MessageInitShape<typeof asr.StreamingRecognizeRequestSchema>['streamingRequest'],
    ) =>
      live.write(
        create(asr.StreamingRecognizeRequestSchema, { ...(streamingRequest && { streamingRequest }) }),
      );
    send({ case: 'streamingConfig', value: { config, interimResults: true } });
    const all = Buffer.concat([samples, Buffer.alloc(2 * sampleRate), samples]);
    for (let at = 0; at < all.length; at += chunkBytes) {
      send({ case: 'audioContent', value: all.subarray(at, at + chunkBytes) });
    }
    live.end();
    const answers: asr.StreamingRecognitionResult[] = [];
    for await (const response of live as AsyncIterable<asr.StreamingRecognizeResponse>)
      answers.push(...response.results);
    const finals = answers.filter(({ isFinal }) => isFinal).map(({ alternatives: [best] }) => best);
    expect(finals.map((best) => best?.transcript)).toEqual([
      expect.stringMatching(heard),
      expect.stringMatching(heard),
    ]);
    expect(finals[1]?.words[0]?.startTime).toBeGreaterThan(finals[0]?.words.at(-1)?.endTime ?? 0);
  });

  it('leaves records of the same operations as other clients, and spends no credits', async () => {
    const { items } = await parley.app.store.usage.list({}, { size: 100, after: undefined });
    const seen = items.map(({ operation, state, fairUseUnits }) => `${operation} ${state} ${fairUseUnits}`);
    expect(seen.toSorted()).toEqual([
      'speech ok 0',
      `speech ok ${sentence.length}`,
      'transcription ok 0',
      ...Array.from({ length: 3 }, () => expect.stringMatching(/^transcription ok (30|45)$/)),
    ]);
    const books = await parley.books();
    expect(books.entries.filter(({ kind }) => kind === 'debit')).toEqual([]);
  });
});

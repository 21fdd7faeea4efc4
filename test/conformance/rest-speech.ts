import { create, type Message } from '@bufbuild/protobuf';
import {
  type SynthesizeSpeechRequest,
  SynthesizeSpeechRequestSchema,
  SynthesizeSpeechResponseSchema,
} from '../../gen/parley/speech/v1/speech_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import type { HttpAnswer } from './http-client.ts';
import type { ReadAnswer, RestCall } from './rest-call.ts';

const codec = jsonCodec(SynthesizeSpeechRequestSchema);

export function speechRequest(request: Message): RestCall {
  const json = JSON.stringify(codec.encode(request as SynthesizeSpeechRequest));
  return { method: 'POST', path: '/api/v1/audio/speech', body: json, contentType: 'application/json' };
}

/** The body is the audio itself, its type the Content-Type. */
export function readSpeech({ body, headers }: HttpAnswer): ReadAnswer {
  const contentType = headers['content-type'] ?? '';
  return { messages: [create(SynthesizeSpeechResponseSchema, { audio: body, contentType })] };
}

import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { CreateChatCompletionRequestSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { FuzzTarget } from '../target.ts';
import { withParley } from './served.ts';

const chat = '/parley.chat.v1.ChatService/CreateChatCompletion';
const wires: readonly (readonly [path: string, type: string])[] = [
  [chat, 'application/grpc'],
  ['/parley.chat.v1.ChatService/StreamChatCompletion', 'application/grpc'],
  ['/parley.audio.v1.TranscriptionService/UploadTranscription', 'application/grpc'],
  ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', 'application/grpc'],
  [chat, 'application/grpc-web+proto'],
  [chat, 'application/proto'],
  [chat, 'application/json'],
  ['/parley.chat.v1.ChatService/StreamChatCompletion', 'application/connect+json'],
  ['/nvidia.riva.asr.RivaSpeechRecognition/Recognize', 'application/grpc'],
  ['/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize', 'application/grpc'],
  ['/nvidia.riva.tts.RivaSpeechSynthesis/SynthesizeOnline', 'application/grpc'],
];
const encodings = ['identity', 'gzip', 'br', 'cow'];
const answerMsMax = 30_000;
/** gRPC's UNKNOWN and INTERNAL are errors of the server, unless a refusal explains them. */
const faults = new Set(['2', '13']);

const message = toBinary(
  CreateChatCompletionRequestSchema,
  create(CreateChatCompletionRequestSchema, {
    params: {
      model: 'eliza',
      messages: [{ role: 'user', content: { value: { case: 'text', value: 'Hi.' } } }],
    },
  }),
);
const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
const sent = (wire: number, body: Uint8Array | string) =>
  Buffer.concat([Buffer.from([wire, 0]), Buffer.from(body)]);

/** The body of a call: the first byte chooses wire and method, the second the encoding that it states. */
export const envelopes: FuzzTarget = {
  seeds: [
    ...[0, 1, 2, 3, 4].map((wire) => sent(wire, envelope)),
    sent(5, message),
    sent(6, '{"params":{"model":"eliza","messages":[{"role":"user","content":{"text":"Hi."}}]}}'),
    sent(7, Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), Buffer.from('{}')])),
    ...[8, 9, 10].map((wire) => sent(wire, envelope)),
  ],
  words: [
    '\0\0\0\0\0',
    '\x01\0\0\0\x01',
    '\x02\0\0\0\x02{}',
    '\x80\0\0\0\0',
    '\0\xff\xff\xff\xff',
    '\x1f\x8b\x08',
    '\x0a\x00',
    '\x12\x00',
    '{}',
    'eliza',
  ],
  open: () =>
    withParley(async ({ baseUrl, apiKey }, input) => {
      const [path = '', type = ''] = wires[(input[0] ?? 0) % wires.length] ?? [];
      const encoding = encodings[(input[1] ?? 0) % encodings.length] ?? '';
      const isGrpc = type.startsWith('application/grpc');
      const session = connect(new URL(baseUrl).origin);
      session.on('error', () => undefined);
      try {
        const stream = session.request(
          {
            ':method': 'POST',
            ':path': path,
            'content-type': type,
            te: 'trailers',
            authorization: `Bearer ${apiKey}`,
            ...(isGrpc
              ? { 'grpc-encoding': encoding }
              : type.includes('connect+')
                ? { 'connect-content-encoding': encoding }
                : { 'content-encoding': encoding }),
          },
          { signal: AbortSignal.timeout(answerMsMax) },
        );
        const all: Record<string, unknown> = {};
        for (const event of ['response', 'trailers'] as const)
          stream.on(event, (headers) => Object.assign(all, headers));
        stream.resume();
        stream.end(input.subarray(2));
        await new Promise<void>((resolve, reject) => {
          stream.once('close', resolve);
          stream.once('error', reject);
        });
        const shown = JSON.stringify(all);
        assert.ok(all[':status'] !== undefined && all[':status'] !== 500, `answered ${shown}`);
        const details = Buffer.from(String(all['grpc-status-details-bin'] ?? ''), 'base64');
        const isFault = faults.has(String(all['grpc-status'])) && !details.includes('invalid_request_error');
        assert.ok(!isFault, `answered ${shown}`);
      } finally {
        session.destroy();
      }
    }),
};

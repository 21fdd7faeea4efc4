import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { StreamTranscribeRequestSchema } from '../../../gen/parley/audio/v1/live_pb.ts';
import type { RawHttp2, RawHttp2Options } from '../../support/raw-http2.ts';
import {
  data,
  endHeaders,
  frameTypes,
  type HeaderList,
  initialWindowSize,
  preface,
  request,
  settings,
} from '../../support/raw-http2.ts';
import type { AttackClass } from '../attack.ts';
import { until } from '../harness/expected.ts';
import { enveloped, mebibyte, repeated } from '../harness/messages.ts';
import type { Target } from '../harness/target.ts';

const path = '/parley.audio.v1.TranscriptionService/StreamTranscribe';
const streams = 100;
const connections = 4;
const holdMs = 1_000;

const message = (part: 'config' | 'commit') =>
  enveloped(
    toBinary(
      StreamTranscribeRequestSchema,
      create(StreamTranscribeRequestSchema, {
        part: part === 'config' ? { case: part, value: { turnDetection: {} } } : { case: part, value: {} },
      }),
    ),
  );
/** A message of one byte of audio. */
const oneByte = enveloped(
  toBinary(
    StreamTranscribeRequestSchema,
    create(StreamTranscribeRequestSchema, { part: { case: 'audio', value: new Uint8Array(1) } }),
  ),
);

async function openStreams(target: Target, count: number, options: RawHttp2Options = {}): Promise<RawHttp2> {
  const client = await target.http2(options);
  const headers: HeaderList = [
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ['authorization', `Bearer ${target.server.apiKey}`],
  ];
  const ids = Array.from({ length: count }, (_, index) => 1 + 2 * index);
  await client.write(...ids.map((id) => request(id, { method: 'POST', path, headers, flags: endHeaders })));
  await until('sessions are open', () => client.received(frameTypes.headers).length >= count);
  return client;
}

const onEach = (target: Target, play: () => Promise<void>) =>
  Promise.all(Array.from({ length: connections }, play)).then(() => void target);

export const liveCalls: AttackClass = {
  title: 'Live sessions over gRPC',
  attacks: [
    {
      name: `${connections * streams} sessions that send nothing`,
      by: 'customer',
      connections: connections * streams,
      memoryMiBMax: 0.125,
      play: (target) =>
        onEach(target, async () => {
          await openStreams(target, streams);
          await sleep(holdMs);
        }),
    },
    {
      name: `${connections * streams} sessions that send a byte of audio now and then`,
      by: 'customer',
      connections: connections * streams,
      memoryMiBMax: 0.25,
      play: (target) =>
        onEach(target, async () => {
          const client = await openStreams(target, streams);
          const all = (bytes: Buffer) =>
            client.write(...Array.from({ length: streams }, (_, index) => data(1 + 2 * index, bytes)));
          await all(message('config'));
          for (let part = 0; part < 3; part++) {
            await all(oneByte);
            await sleep(holdMs);
          }
        }),
    },
    {
      name: 'a session of a million wrong commits that reads nothing',
      by: 'customer',
      bytes: mebibyte,
      async play(target) {
        const start = Buffer.concat([preface, settings([initialWindowSize, 0])]);
        const client = await openStreams(target, 1, { start });
        const commits = repeated(message('commit'), 2_000);
        await client.write(data(1, message('config')));
        let window = 65_535;
        for (let sent = 0; sent < 8 * mebibyte && !client.isClosed; ) {
          for (const { type, payload } of client.frames.splice(0))
            if (type === frameTypes.windowUpdate) window += payload.readUInt32BE();
          if (window < commits.length) {
            const before = client.received(frameTypes.windowUpdate).length;
            await sleep(holdMs);
            if (client.received(frameTypes.windowUpdate).length === before) return;
            continue;
          }
          await client.write(data(1, commits));
          sent += commits.length;
          window -= commits.length;
        }
      },
    },
  ],
};

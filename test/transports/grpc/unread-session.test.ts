/** A session over gRPC that is refused before anything reads what its client has sent. */
import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import { session } from '../../../src/core/rpcs.ts';
import { receiveFrom } from '../../../src/transports/grpc/request.ts';
import type { ServedCall } from '../../../src/transports/run-call.ts';

async function* refuse(): AsyncGenerator<never, void, void> {}
const rpc = session('transcription', TranscriptionService.method.streamTranscribe, refuse);
const limits = { messageBytesMax: 4_000_000, requestElementsMax: 100_000 };

it('closes its stream, whatever it has sent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const request = client.request({ ':method': 'POST', ':path': '/' });
  request.write(Buffer.alloc(2_000));
  const [stream] = (await once(server, 'stream')) as [ServerHttp2Stream];
  // It asks for no memory, as it keeps no message.
  await receiveFrom(stream, undefined, rpc, limits, {} as ServedCall);
  await new Promise<void>((resolve) => client.ping(() => resolve()));
  const closed = once(stream, 'close');
  stream.respond({ ':status': 200 }, { endStream: true });
  stream.resume();
  stream.close();
  await closed;
  expect(stream.destroyed).toBe(true);
  client.destroy();
  server.close();
});

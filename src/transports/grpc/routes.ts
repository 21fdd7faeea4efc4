/** Serves the RPCs over gRPC, on HTTP/2 streams of a connection that other protocols may share. */
import { type Message, toBinary } from '@bufbuild/protobuf';
import { answerEncoder } from '../encode-once.ts';
import { keepOpen } from '../http/http2-stream.ts';
import type { StreamHandler } from '../http/server.ts';
import { requestHead, takeKeyHeader } from '../request-head.ts';
import { envelopeHead } from '../rpc/envelopes.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import type { Received } from '../rpc/request.ts';
import { noSuchMethod } from '../rpc/request-errors.ts';
import { type AnyRpc, answerRpc, type RpcLimits, rpcPath, streamRpc } from '../rpc/rpcs.ts';
import { readTimeout } from '../rpc/timeout.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { GrpcAnswer } from './answer.ts';
import { receiveFrom, unpackerOf } from './request.ts';

/** Reads nothing of a body before the gate has opened its call. */
export function createGrpcHandler(rpcs: readonly AnyRpc[], limits: RpcLimits, deps: CallDeps): StreamHandler {
  const routes = new Map(rpcs.map((rpc) => [rpcPath(rpc), { rpc, encode: encoderOf(rpc) }]));
  return (stream, headers, client) => {
    const route = routes.get(headers[':path'] ?? '');
    takeKeyHeader(headers);
    const head = requestHead('grpc', client, headers);
    const served = new ServedCall(head, deps, route?.rpc.kind);
    const answer = new GrpcAnswer(stream, served);
    if (route === undefined) {
      served.refuseUnserved(noSuchMethod()).catch((error: unknown) => answer.fail(error));
      return served.finish();
    }
    const { rpc, encode } = route;
    let isRunning = false;
    stream.on('close', () => {
      answer.close();
      served.close(isRunning || stream.aborted);
    });
    const open = async () => {
      const opening = served.open(rpc);
      if (opening) await opening;
      if (rpc.kind === 'session') keepOpen(stream);
      const unpack = unpackerOf(head.header('grpc-encoding'));
      const timeout = readTimeout(head);
      // The client has left: the record ends when the stream closes.
      if (stream.destroyed || stream.closed) return;
      isRunning = true;
      if (timeout) answer.endIn(timeout.ms);
      joinPieces(stream);
      await run(rpc, () => receiveFrom(stream, unpack, rpc, limits, served), answer, served, encode);
    };
    open().catch((error: unknown) => answer.fail(error));
  };
}

/** Encodes a message in its envelope. */
type Encode = (message: Message) => Buffer;

function encoderOf(rpc: AnyRpc): Encode {
  const operation = 'operation' in rpc ? rpc.operation : undefined;
  return answerEncoder(operation, (message: Message) => {
    const bytes = toBinary(rpc.method.output, message);
    return Buffer.concat([envelopeHead(bytes), bytes]);
  });
}

/** Runs an RPC and sends its answer. */
async function run(
  rpc: AnyRpc,
  receive: () => Promise<Received>,
  answer: GrpcAnswer,
  served: ServedCall,
  encode: Encode,
): Promise<void> {
  try {
    const received = await receive();
    if (isStreamed(rpc)) {
      // The client of a session may wait for its head before it speaks.
      if (rpc.kind === 'session') answer.begin();
      const { batches, toMessage } = streamRpc(rpc, received, served);
      for await (const parts of batches) {
        answer.begin();
        for (const part of parts) {
          const written = answer.write(encode(toMessage(part)));
          // A slow client slows the engine.
          if (written) await written;
        }
      }
    } else {
      answer.write(encode(await answerRpc(rpc, received, served)));
    }
    answer.end();
  } finally {
    served.finish();
  }
}

function isStreamed({ method: { methodKind } }: AnyRpc): boolean {
  return methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
}

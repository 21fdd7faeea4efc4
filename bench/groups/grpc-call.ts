/** gRPC clients that leave answers as bytes: they cost little, and answers can be compared. */
import { create, type DescMethod, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientReadableStream, credentials, Metadata } from '@grpc/grpc-js';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { send } from '../harness/drive.ts';
import type { Contender } from '../harness/levels.ts';
import type { Served } from '../servers/child.ts';

export interface Rpc {
  readonly path: string;
  readonly request: Buffer;
}

const content = { value: { case: 'text', value: 'Hello.' } } as const;
const params = { model: 'bench', messages: [{ role: 'user', content }] };
const { createChatCompletion, streamChatCompletion } = ChatService.method;

export const chat: Rpc = {
  path: pathOf(createChatCompletion),
  request: Buffer.from(toBinary(createChatCompletion.input, create(createChatCompletion.input, { params }))),
};
export const chatStream: Rpc = {
  path: pathOf(streamChatCompletion),
  request: Buffer.from(toBinary(streamChatCompletion.input, create(streamChatCompletion.input, { params }))),
};

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

const same = (bytes: Buffer) => bytes;

/** Opens a connection. */
function open({ origin, key }: Served, { path, request }: Rpc) {
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  const client = new Client(new URL(origin).host, credentials.createInsecure(), options);
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  /** Resolves to the bytes of all messages. Rejects unless the status is OK. */
  const call = () =>
    new Promise<Buffer>((resolve, reject) => {
      // A unary call reads the same as a stream of one message.
      const answer: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
        path,
        same,
        same,
        request,
        metadata,
      );
      const messages: Buffer[] = [];
      answer.on('data', (bytes: Buffer) => messages.push(bytes));
      answer.on('error', reject);
      answer.on('end', () => resolve(Buffer.concat(messages)));
    });
  return { call, close: () => client.close() };
}

export function askOnce(server: Served, rpc: Rpc): Promise<Buffer> {
  const { call, close } = open(server, rpc);
  return call().finally(close);
}

/** Sends its calls by grpc-js, on one connection. */
export function grpcContender(server: Served, rpc: Rpc, warmUpCalls: number): Contender {
  return {
    server,
    warmUpCalls,
    send({ atOnce }, calls) {
      const { call, close } = open(server, rpc);
      return send(call, { atOnce, calls }).finally(close);
    },
  };
}

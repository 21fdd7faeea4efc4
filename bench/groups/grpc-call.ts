/** gRPC clients that leave answers as bytes: they cost little, and answers can be compared. */
import { create, type DescMethod, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientReadableStream, credentials, Metadata } from '@grpc/grpc-js';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import type { Client as BenchClient, Contender } from '../harness/levels.ts';
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

interface GrpcClient extends BenchClient {
  /** Resolves to the bytes of all messages. */
  call(n: number): Promise<Buffer>;
}

/** Calls take turns on the connections. */
export function openGrpcClient({ origin, key }: Served, rpc: Rpc, connections: number): GrpcClient {
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  const clients = Array.from(
    { length: connections },
    () => new Client(new URL(origin).host, credentials.createInsecure(), options),
  );
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  return {
    call: (n) => ask(clients[n % clients.length] as Client, rpc, metadata),
    close: () => {
      for (const client of clients) client.close();
    },
  };
}

export function grpcContender(server: Served, rpc: Rpc, warmUpCalls: number): Contender {
  return { server, warmUpCalls, open: (connections) => openGrpcClient(server, rpc, connections) };
}

const same = (bytes: Buffer) => bytes;

/** A unary call reads the same as a stream of one message. */
function ask(client: Client, { path, request }: Rpc, metadata: Metadata): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const call: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
      path,
      same,
      same,
      request,
      metadata,
    );
    const messages: Buffer[] = [];
    call.on('data', (bytes: Buffer) => messages.push(bytes));
    call.on('error', reject);
    call.on('end', () => resolve(Buffer.concat(messages)));
  });
}

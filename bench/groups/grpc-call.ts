/** gRPC clients that leave answers as bytes: they cost little, and answers can be compared. */
import { create, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientReadableStream, credentials, Metadata } from '@grpc/grpc-js';
import {
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import type { Client as BenchClient, Contender } from '../harness/levels.ts';
import type { Served } from '../servers/child.ts';

export interface Rpc {
  readonly path: string;
  readonly request: Buffer;
  readonly isStream: boolean;
}

const content = { value: { case: 'text', value: 'Hello.' } } as const;
const params = { model: 'bench', messages: [{ role: 'user', content }] };
const { createChatCompletion, streamChatCompletion } = ChatService.method;

export const chat: Rpc = {
  path: `/${ChatService.typeName}/${createChatCompletion.name}`,
  request: Buffer.from(
    toBinary(CreateChatCompletionRequestSchema, create(CreateChatCompletionRequestSchema, { params })),
  ),
  isStream: false,
};

export const chatStream: Rpc = {
  path: `/${ChatService.typeName}/${streamChatCompletion.name}`,
  request: Buffer.from(
    toBinary(StreamChatCompletionRequestSchema, create(StreamChatCompletionRequestSchema, { params })),
  ),
  isStream: true,
};

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
  const ask = rpc.isStream ? askForStream : askForOne;
  return {
    call: (n) => ask(clients[n % clients.length] as Client, rpc, metadata),
    close: () => {
      for (const client of clients) client.close();
    },
  };
}

export function grpcContender(server: Served, rpc: Rpc): Contender {
  return { server, open: (connections) => openGrpcClient(server, rpc, connections) };
}

const same = (bytes: Buffer) => bytes;

function askForOne(client: Client, { path, request }: Rpc, metadata: Metadata): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, request, metadata, (error, answer) =>
      answer ? resolve(answer) : reject(error),
    );
  });
}

function askForStream(client: Client, { path, request }: Rpc, metadata: Metadata): Promise<Buffer> {
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

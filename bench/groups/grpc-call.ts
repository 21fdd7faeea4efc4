/** Calls over gRPC whose answers are left as bytes, so that the clients cost little and answers can be compared. */
import { create, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientReadableStream, credentials, Metadata } from '@grpc/grpc-js';
import { ListModelsRequestSchema } from '../../gen/parley/catalog/v1/catalog_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import {
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import type { Started } from '../servers/parent.ts';

export interface Rpc {
  readonly path: string;
  readonly request: Buffer;
  readonly isStream: boolean;
}

const content = { value: { case: 'text', value: 'Hello.' } } as const;
const params = { model: 'eliza', messages: [{ role: 'user', content }] };
const { createChatCompletion, streamChatCompletion } = ChatService.method;

export const listModels: Rpc = {
  path: `/${CatalogService.typeName}/${CatalogService.method.listModels.name}`,
  request: Buffer.from(toBinary(ListModelsRequestSchema, create(ListModelsRequestSchema))),
  isStream: false,
};

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

export interface GrpcClients {
  /** Resolves to the bytes of all messages. The connections take turns. */
  call(n: number): Promise<Buffer>;
  close(): void;
}

/** @param connections each a TCP connection of its own */
export function openGrpcClients({ origin, key }: Started, rpc: Rpc, connections: number): GrpcClients {
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

/** The floor: a grpc-js server that answers the same messages and does nothing else. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import {
  CreateChatCompletionResponseSchema,
  type StreamChatCompletionResponse,
  StreamChatCompletionResponseSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { chatChunks, chatCompletion, listModelsResponse } from './messages.ts';
import { serveParent } from './parent.ts';

const { listModels } = CatalogService.method;
const { createChatCompletion, streamChatCompletion } = ChatService.method;
const server = new Server();

const list: handleUnaryCall<unknown, unknown> = (_, respond) => respond(null, listModelsResponse);
server.addService(
  {
    listModels: {
      path: `/${CatalogService.typeName}/${listModels.name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => fromBinary(listModels.input, bytes),
      responseSerialize: () => Buffer.from(toBinary(listModels.output, listModelsResponse)),
      responseDeserialize: () => undefined,
    },
  },
  { listModels: list },
);

const complete: handleUnaryCall<unknown, unknown> = (_, respond) => respond(null, {});
server.addService(
  {
    complete: {
      path: `/${ChatService.typeName}/${createChatCompletion.name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => fromBinary(createChatCompletion.input, bytes),
      responseSerialize: () => {
        const answer = create(CreateChatCompletionResponseSchema, { completion: chatCompletion() });
        return Buffer.from(toBinary(createChatCompletion.output, answer));
      },
      responseDeserialize: () => undefined,
    },
  },
  { complete },
);

const stream: handleServerStreamingCall<unknown, StreamChatCompletionResponse> = (call) => {
  for (const chunk of chatChunks()) call.write(create(StreamChatCompletionResponseSchema, { chunk }));
  call.end();
};
server.addService(
  {
    stream: {
      path: `/${ChatService.typeName}/${streamChatCompletion.name}`,
      requestStream: false,
      responseStream: true,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => fromBinary(streamChatCompletion.input, bytes),
      responseSerialize: (message: StreamChatCompletionResponse) =>
        Buffer.from(toBinary(streamChatCompletion.output, message)),
      responseDeserialize: () => undefined,
    },
  },
  { stream },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  serveParent({ origin: `http://127.0.0.1:${port}`, key: 'none' }, async () => server.forceShutdown());
});

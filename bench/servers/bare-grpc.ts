/** The floor of gRPC: a grpc-js server that answers the same messages and does nothing else. */
import { create, type DescMethod, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import {
  CreateChatCompletionResponseSchema,
  StreamChatCompletionResponseSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { chatChunks, chatCompletion } from './messages.ts';
import { serveParent } from './parent.ts';

function definitionOf(rpc: DescMethod): MethodDefinition<Message, Message> {
  return {
    path: `/${ChatService.typeName}/${rpc.name}`,
    requestStream: false,
    responseStream: rpc.methodKind === 'server_streaming',
    requestSerialize: (message) => Buffer.from(toBinary(rpc.input, message)),
    requestDeserialize: (bytes) => fromBinary(rpc.input, bytes),
    responseSerialize: (message) => Buffer.from(toBinary(rpc.output, message)),
    responseDeserialize: (bytes) => fromBinary(rpc.output, bytes),
  };
}

const complete: handleUnaryCall<Message, Message> = (_, respond) =>
  respond(null, create(CreateChatCompletionResponseSchema, { completion: chatCompletion() }));

const stream: handleServerStreamingCall<Message, Message> = (call) => {
  for (const chunk of chatChunks()) call.write(create(StreamChatCompletionResponseSchema, { chunk }));
  call.end();
};

const server = new Server();
const { createChatCompletion, streamChatCompletion } = ChatService.method;
const definitions = {
  complete: definitionOf(createChatCompletion),
  stream: definitionOf(streamChatCompletion),
};
server.addService(definitions, { complete, stream });
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  serveParent({ origin: `http://127.0.0.1:${port}`, key: 'none' }, async () => server.forceShutdown());
});

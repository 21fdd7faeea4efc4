/** Every RPC with the function that it runs: what an edge needs to serve it. */
import {
  create,
  type DescMessage,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import {
  type CreateChatCompletionResponse,
  CreateChatCompletionResponseSchema,
  type StreamChatCompletionResponse,
  StreamChatCompletionResponseSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import { type Batches, singly } from './batches.ts';
import type { AdminCall, Call } from './call.ts';
import type { ChatAnswer, ChatChunk } from './chat-answer.ts';
import type { Operation } from './ports/store.ts';
import { type AdminMethod, adminMethods, type Services } from './services.ts';

/** An RPC, its message types checked where it is made and forgotten after. */
export type Rpc =
  | {
      readonly kind: 'unary';
      readonly method: DescMethodUnary;
      readonly operation: Operation;
      readonly run: UnaryRun;
    }
  | {
      readonly kind: 'server-stream';
      readonly method: DescMethodServerStreaming;
      readonly operation: Operation;
      readonly run: ServerStreamRun;
    }
  | {
      readonly kind: 'client-stream';
      readonly method: DescMethodClientStreaming;
      readonly operation: Operation;
      readonly run: ClientStreamRun;
    }
  | { readonly kind: 'admin'; readonly method: DescMethodUnary; readonly run: AdminRun };

type UnaryRun = (request: Message, call: Call) => Promise<Message>;
type ServerStreamRun = (request: Message, call: Call) => Batches<Message>;
type ClientStreamRun = (requests: AsyncIterable<Message>, call: Call) => Promise<Message>;
type AdminRun = (request: Message, call: AdminCall) => Promise<Message>;

export function rpcsOf({ speech, transcription, chat, catalog, account, admin }: Services): Rpc[] {
  return [
    unary('catalog', CatalogService.method.listModels, (request, call) => catalog.listModels(request, call)),
    unary('catalog', CatalogService.method.getModel, (request, call) => catalog.getModel(request, call)),
    unary('account', AccountService.method.getAccount, (request, call) => account.getAccount(request, call)),
    unary('account', AccountService.method.listUsageRecords, (request, call) =>
      account.listUsageRecords(request, call),
    ),
    unary('chat', ChatService.method.createChatCompletion, async (request, call) =>
      toCompletion(await chat.createChatCompletion(request, call)),
    ),
    serverStream('chat', ChatService.method.streamChatCompletion, (request, call) =>
      toChunks(chat.streamChatCompletion(request, call)),
    ),
    serverStream('speech', SpeechService.method.synthesizeSpeech, (request, call) =>
      singly(speech.synthesizeSpeech(request, call)),
    ),
    unary('transcription', TranscriptionService.method.createTranscription, (request, call) =>
      transcription.createTranscription(request, call),
    ),
    serverStream('transcription', TranscriptionService.method.streamTranscription, (request, call) =>
      singly(transcription.streamTranscription(request, call)),
    ),
    clientStream('transcription', TranscriptionService.method.uploadTranscription, (requests, call) =>
      transcription.uploadTranscription(requests, call),
    ),
    ...adminNames.map((name) => adminRpc(name, admin)),
  ];
}

function toCompletion({ message: completion }: ChatAnswer): CreateChatCompletionResponse {
  return create(CreateChatCompletionResponseSchema, { completion });
}

async function* toChunks(
  batches: Batches<ChatChunk>,
): AsyncGenerator<readonly StreamChatCompletionResponse[]> {
  for await (const batch of batches) {
    yield batch.map(({ message: chunk }) => create(StreamChatCompletionResponseSchema, { chunk }));
  }
}

const adminNames = Object.keys(adminMethods) as AdminMethod[];

function unary<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
): Rpc {
  return { kind: 'unary', method, operation, run: (request, call) => run(request as MessageShape<I>, call) };
}

function serverStream<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodServerStreaming<I, O>,
  run: (request: MessageShape<I>, call: Call) => Batches<MessageShape<O>>,
): Rpc {
  return {
    kind: 'server-stream',
    method,
    operation,
    run: (request, call) => run(request as MessageShape<I>, call),
  };
}

function clientStream<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodClientStreaming<I, O>,
  run: (requests: AsyncIterable<MessageShape<I>>, call: Call) => Promise<MessageShape<O>>,
): Rpc {
  const runAll: ClientStreamRun = (requests, call) => run(requests as AsyncIterable<MessageShape<I>>, call);
  return { kind: 'client-stream', method, operation, run: runAll };
}

function adminRpc(name: AdminMethod, admin: Services['admin']): Rpc {
  const run = admin[name].bind(admin) as AdminRun;
  return { kind: 'admin', method: adminMethods[name], run };
}

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
import type { AdminCall, Call } from './call.ts';
import type { ChatAnswer, ChatChunk } from './chat/answer.ts';
import type { Operation } from './ports/usage.ts';
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
      /** The messages of what `run` gives at once. */
      readonly messagesOf: (part: unknown) => readonly Message[];
    }
  | {
      readonly kind: 'client-stream';
      readonly method: DescMethodClientStreaming;
      readonly operation: Operation;
      readonly run: ClientStreamRun;
    }
  | { readonly kind: 'admin'; readonly method: DescMethodUnary; readonly run: AdminRun };

type UnaryRun = (request: Message, call: Call) => Promise<Message>;
type ServerStreamRun = (request: Message, call: Call) => AsyncIterable<unknown>;
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
    serverStream(
      'chat',
      ChatService.method.streamChatCompletion,
      (request, call) => chat.streamChatCompletion(request, call),
      (chunks) => chunks.map(toChunk),
    ),
    serverStream(
      'speech',
      SpeechService.method.synthesizeSpeech,
      (request, call) => speech.synthesizeSpeech(request, call),
      (response) => [response],
    ),
    unary('transcription', TranscriptionService.method.createTranscription, (request, call) =>
      transcription.createTranscription(request, call),
    ),
    serverStream(
      'transcription',
      TranscriptionService.method.streamTranscription,
      (request, call) => transcription.streamTranscription(request, call),
      (response) => [response],
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

function toChunk({ message: chunk }: ChatChunk): StreamChatCompletionResponse {
  return create(StreamChatCompletionResponseSchema, { chunk });
}

const adminNames = Object.keys(adminMethods) as AdminMethod[];

function unary<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
): Rpc {
  return { kind: 'unary', method, operation, run: (request, call) => run(request as MessageShape<I>, call) };
}

function serverStream<I extends DescMessage, O extends DescMessage, Part>(
  operation: Operation,
  method: DescMethodServerStreaming<I, O>,
  run: (request: MessageShape<I>, call: Call) => AsyncIterable<Part>,
  messagesOf: (part: Part) => readonly MessageShape<O>[],
): Rpc {
  return {
    kind: 'server-stream',
    method,
    operation,
    run: (request, call) => run(request as MessageShape<I>, call),
    messagesOf: (part) => messagesOf(part as Part),
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

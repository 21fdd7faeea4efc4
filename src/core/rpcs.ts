/**
 * The one table of operations. Each entry names an RPC of the schemas, the function that runs it and the operation under which it
 * is allowed, limited and recorded. Every transport builds its routes from this table.
 */
import {
  create,
  type DescMessage,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageShape,
} from '@bufbuild/protobuf';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AlertsService } from '../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import {
  CreateChatCompletionResponseSchema,
  StreamChatCompletionResponseSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { StreamCompletionResponseSchema } from '../../gen/parley/completions/v1/completions_pb.ts';
import { CompletionsService } from '../../gen/parley/completions/v1/completions_service_pb.ts';
import { ManagementService } from '../../gen/parley/management/v1/management_service_pb.ts';
import { StreamResponseResponseSchema } from '../../gen/parley/responses/v1/responses_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import type { AdminCall, Call } from './access/call.ts';
import type { Operation } from './entities/usage.ts';
import { type AdminFunctions, type AdminMethod, adminMethods, type Services } from './services.ts';
import { type Batches, singly } from './values/batches.ts';

/**
 * One request, one answer. `run` may return the answer in a form of its own (a chat answer stays as the engine sent it);
 * `toMessage` turns it into the response message.
 */
export interface UnaryRpc<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
  Answer = unknown,
> {
  readonly kind: 'unary';
  readonly method: DescMethodUnary<I, O>;
  readonly operation: Operation;
  run(request: MessageShape<I>, call: Call): Promise<Answer>;
  toMessage(answer: Answer): MessageShape<O>;
}

/** One request, a stream of parts. Parts travel in batches; `toMessage` turns one part into a response message. */
export interface ServerStreamRpc<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
  Part = unknown,
> {
  readonly kind: 'server-stream';
  readonly method: DescMethodServerStreaming<I, O>;
  readonly operation: Operation;
  run(request: MessageShape<I>, call: Call): Batches<Part>;
  toMessage(part: Part): MessageShape<O>;
  /** Whether the client has received output once it has this part. A client that leaves before any output pays nothing. */
  isOutput(part: Part): boolean;
}

/** A stream of requests, one answer. */
export interface ClientStreamRpc<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: 'client-stream';
  readonly method: DescMethodClientStreaming<I, O>;
  readonly operation: Operation;
  run(requests: AsyncIterable<MessageShape<I>>, call: Call): Promise<MessageShape<O>>;
}

/** One request, one answer, behind an admin key. */
export interface AdminRpc<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: 'admin';
  readonly method: DescMethodUnary<I, O>;
  run(request: MessageShape<I>, call: AdminCall): Promise<MessageShape<O>>;
}

/** Bytes of a request that holds only names, ids and dates: catalog, account and administration. */
export const plainRequestBytesMax = 64 * 1024;
/** Members and fields of such a request. */
export const plainRequestElementsMax = 1_000;
/** Objects, arrays or messages within each other. Far more would overflow the stack. */
export const requestShape = { levelsMax: 100, membersMax: 10_000 };

/** Whether a request holds only names, ids and dates: catalog, account and management. */
export function isPlain(operation: Operation): boolean {
  return operation === 'catalog' || operation === 'account' || operation === 'manage';
}

export type Rpc = UnaryRpc | ServerStreamRpc | ClientStreamRpc | AdminRpc;
export type RpcTable = ReturnType<typeof rpcTable>;

export function rpcTable(services: Services) {
  return {
    ...catalogRpcs(services.catalog),
    ...accountRpcs(services.account),
    ...managementRpcs(services.management),
    ...alertRpcs(services.alerts),
    ...chatRpcs(services),
    ...audioRpcs(services.speech, services.transcription),
    admin: adminRpcs(services.admin),
  };
}

function catalogRpcs(catalog: Services['catalog']) {
  return {
    listModels: unary('catalog', CatalogService.method.listModels, (request, call) =>
      catalog.listModels(request, call),
    ),
    getModel: unary('catalog', CatalogService.method.getModel, (request, call) =>
      catalog.getModel(request, call),
    ),
    listSpeechModels: unary('catalog', CatalogService.method.listSpeechModels, (request, call) =>
      catalog.listSpeechModels(request, call),
    ),
    listVoices: unary('catalog', CatalogService.method.listVoices, (request, call) =>
      catalog.listVoices(request, call),
    ),
  };
}

function accountRpcs(account: Services['account']) {
  return {
    getAccount: unary('account', AccountService.method.getAccount, (request, call) =>
      account.getAccount(request, call),
    ),
    listUsageRecords: unary('account', AccountService.method.listUsageRecords, (request, call) =>
      account.listUsageRecords(request, call),
    ),
    getUsageTotals: unary('account', AccountService.method.getUsageTotals, (request, call) =>
      account.getUsageTotals(request, call),
    ),
    listLedgerEntries: unary('account', AccountService.method.listLedgerEntries, (request, call) =>
      account.listLedgerEntries(request, call),
    ),
  };
}

function managementRpcs(management: Services['management']) {
  const { method } = ManagementService;
  return {
    getKey: unary('account', method.getKey, (request, call) => management.getKey(request, call)),
    listKeys: unary('manage', method.listKeys, (request, call) => management.listKeys(request, call)),
    createKey: unary('manage', method.createKey, (request, call) => management.createKey(request, call)),
    setKeyLimits: unary('manage', method.setKeyLimits, (request, call) =>
      management.setKeyLimits(request, call),
    ),
    rotateKey: unary('manage', method.rotateKey, (request, call) => management.rotateKey(request, call)),
    revokeKey: unary('manage', method.revokeKey, (request, call) => management.revokeKey(request, call)),
  };
}

function alertRpcs(alerts: Services['alerts']) {
  const { method } = AlertsService;
  return {
    getAlertSettings: unary('manage', method.getAlertSettings, (request, call) =>
      alerts.getAlertSettings(request, call),
    ),
    setAlertSettings: unary('manage', method.setAlertSettings, (request, call) =>
      alerts.setAlertSettings(request, call),
    ),
    listAlerts: unary('manage', method.listAlerts, (request, call) => alerts.listAlerts(request, call)),
    sendTestAlert: unary('manage', method.sendTestAlert, (request, call) =>
      alerts.sendTestAlert(request, call),
    ),
  };
}

function chatRpcs({ chat, responses, completions }: Services) {
  const chats = ChatService.method;
  return {
    createChatCompletion: unary(
      'chat',
      chats.createChatCompletion,
      (request, call) => chat.createChatCompletion(request, call),
      ({ message: completion }) => create(CreateChatCompletionResponseSchema, { completion }),
    ),
    streamChatCompletion: serverStream(
      'chat',
      chats.streamChatCompletion,
      (request, call) => chat.streamChatCompletion(request, call),
      ({ message: chunk }) => create(StreamChatCompletionResponseSchema, { chunk }),
      ({ text }) => text !== '',
    ),
    createResponse: unary('chat', ResponsesService.method.createResponse, (request, call) =>
      responses.createResponse(request, call),
    ),
    streamResponse: serverStream(
      'chat',
      ResponsesService.method.streamResponse,
      (request, call) => responses.streamResponse(request, call),
      (event) => create(StreamResponseResponseSchema, { event }),
      // The events that begin an answer tell nothing of it yet.
      ({ response }) => response === undefined,
    ),
    createCompletion: unary('chat', CompletionsService.method.createCompletion, (request, call) =>
      completions.createCompletion(request, call),
    ),
    streamCompletion: serverStream(
      'chat',
      CompletionsService.method.streamCompletion,
      (request, call) => completions.streamCompletion(request, call),
      (completion) => create(StreamCompletionResponseSchema, { completion }),
      ({ choices }) => choices.some(({ text }) => text !== ''),
    ),
  };
}

function audioRpcs(speech: Services['speech'], transcription: Services['transcription']) {
  const transcriptions = TranscriptionService.method;
  return {
    synthesizeSpeech: serverStream(
      'speech',
      SpeechService.method.synthesizeSpeech,
      (request, call) => singly(speech.synthesizeSpeech(request, call)),
      (response) => response,
    ),
    createTranscription: unary('transcription', transcriptions.createTranscription, (request, call) =>
      transcription.createTranscription(request, call),
    ),
    streamTranscription: serverStream(
      'transcription',
      transcriptions.streamTranscription,
      (request, call) => singly(transcription.streamTranscription(request, call)),
      (response) => response,
    ),
    uploadTranscription: clientStream('transcription', transcriptions.uploadTranscription, (requests, call) =>
      transcription.uploadTranscription(requests, call),
    ),
  };
}

/** All RPCs of the table. */
export function allRpcs({ admin, ...others }: RpcTable): readonly Rpc[] {
  return [...Object.values(others), ...Object.values(admin)];
}

function adminRpcs(admin: AdminFunctions): Record<AdminMethod, AdminRpc> {
  const rpcs = Object.entries(adminMethods).map(([name, method]) => {
    // The schema and AdminFunctions have the same methods with the same messages.
    const run = admin[name as AdminMethod].bind(admin) as AdminRpc['run'];
    return [name, { kind: 'admin', method, run }];
  });
  return Object.fromEntries(rpcs);
}

function unary<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
): UnaryRpc<I, O, MessageShape<O>>;
function unary<I extends DescMessage, O extends DescMessage, Answer>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<Answer>,
  toMessage: (answer: Answer) => MessageShape<O>,
): UnaryRpc<I, O, Answer>;
function unary<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
  toMessage = (answer: MessageShape<O>) => answer,
): UnaryRpc<I, O, MessageShape<O>> {
  return { kind: 'unary', method, operation, run, toMessage };
}

function serverStream<I extends DescMessage, O extends DescMessage, Part>(
  operation: Operation,
  method: DescMethodServerStreaming<I, O>,
  run: (request: MessageShape<I>, call: Call) => Batches<Part>,
  toMessage: (part: Part) => MessageShape<O>,
  isOutput: (part: Part) => boolean = () => true,
): ServerStreamRpc<I, O, Part> {
  return { kind: 'server-stream', method, operation, run, toMessage, isOutput };
}

function clientStream<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodClientStreaming<I, O>,
  run: (requests: AsyncIterable<MessageShape<I>>, call: Call) => Promise<MessageShape<O>>,
): ClientStreamRpc<I, O> {
  return { kind: 'client-stream', method, operation, run };
}

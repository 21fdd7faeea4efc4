/**
 * The one table of operations. Each entry names an RPC of the schemas, the function that runs it and the operation under which it
 * is allowed, limited and recorded. Every transport builds its routes from this table.
 */
import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
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
import {
  CountMessageTokensResponseSchema,
  StreamMessageResponseSchema,
} from '../../gen/parley/messages/v1/messages_pb.ts';
import { MessagesService } from '../../gen/parley/messages/v1/messages_service_pb.ts';
import { StreamResponseResponseSchema } from '../../gen/parley/responses/v1/responses_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import type { AdminCall, Call } from './access/call.ts';
import type { ChatAnswer } from './entities/chat-answer.ts';
import type { AdminScope } from './entities/key.ts';
import type { Operation } from './entities/usage.ts';
import type { AdminMethod, Functions, Services, UnaryMethods } from './services.ts';
import { type Batches, singly } from './values/batches.ts';

/**
 * One request, one answer. `run` may return the answer in another form (a chat answer stays as the engine sent it);
 * `toMessage` converts it to the response message.
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
  /** Answers a request without a key, which leaves no record. Default: it is refused. */
  runKeyless?(request: MessageShape<I>): Promise<Answer>;
  toMessage(answer: Answer): MessageShape<O>;
}

/** One request, a stream of parts. Parts travel in batches; `toMessage` converts one part to a response message. */
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

/** A stream of requests, a stream of parts: a session of live speech. */
export interface SessionRpc<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: 'session';
  readonly method: DescMethodBiDiStreaming<I, O>;
  readonly operation: Operation;
  run(requests: AsyncIterable<MessageShape<I>>, call: Call): Batches<MessageShape<O>>;
  isOutput(part: MessageShape<O>): boolean;
}

/** Bytes of one message of a session: 64 KiB of audio, and what is around it. */
export const sessionMessageBytesMax = 66 * 1024;

/** One request, one answer, with an admin key. */
export interface AdminRpc<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: 'admin';
  readonly method: DescMethodUnary<I, O>;
  readonly scope: AdminScope;
  run(request: MessageShape<I>, call: AdminCall): Promise<MessageShape<O>>;
}

/** Maximum bytes of a request with only names, ids and dates: catalog, account and administration. */
export const plainRequestBytesMax = 64 * 1024;
/** Members and fields of such a request. */
export const plainRequestElementsMax = 1_000;
/** Objects, arrays or messages within each other. Far more would overflow the stack. */
export const requestShape = { levelsMax: 100, membersMax: 10_000 };

/** Whether a request holds only names, ids and dates: catalog, account and management. */
export function isPlain(operation: Operation): boolean {
  return operation === 'catalog' || operation === 'account' || operation === 'manage';
}

export type Rpc = UnaryRpc | ServerStreamRpc | ClientStreamRpc | SessionRpc | AdminRpc;
export type RpcTable = ReturnType<typeof rpcTable>;

export function rpcTable(services: Services) {
  const { catalog, accounts } = services;
  const managementRpcs = unaryRpcs('manage', ManagementService.method, accounts);
  return {
    ...unaryRpcs('catalog', CatalogService.method, catalog),
    ...unaryRpcs('account', AccountService.method, accounts),
    ...managementRpcs,
    // Every key may show itself.
    getKey: { ...managementRpcs.getKey, operation: 'account' as const },
    ...unaryRpcs('manage', AlertsService.method, accounts),
    ...chatRpcs(services),
    ...audioRpcs(services),
    admin: adminRpcs(AdminService.method, accounts),
  };
}

function chatRpcs({ chat, responses, messages, completions }: Services) {
  const { createChatCompletion, streamChatCompletion } = ChatService.method;
  const { createResponse, streamResponse } = ResponsesService.method;
  const { createMessage, streamMessage, countMessageTokens } = MessagesService.method;
  const { createCompletion, streamCompletion } = CompletionsService.method;
  return {
    createChatCompletion: {
      kind: 'unary' as const,
      method: createChatCompletion,
      operation: 'chat' as const,
      run: chat.createChatCompletion.bind(chat),
      toMessage: ({ message: completion }: ChatAnswer) =>
        create(CreateChatCompletionResponseSchema, { completion }),
    },
    streamChatCompletion: chatStream(
      streamChatCompletion,
      chat.streamChatCompletion.bind(chat),
      // `create` would cost a tenth of what encoding costs.
      ({ message: chunk }) => ({ $typeName: StreamChatCompletionResponseSchema.typeName, chunk }),
    ),
    createResponse: unary('chat', createResponse, responses.create.bind(responses)),
    streamResponse: chatStream(streamResponse, responses.stream.bind(responses), (event) =>
      create(StreamResponseResponseSchema, { event }),
    ),
    createMessage: unary('chat', createMessage, messages.create.bind(messages)),
    countMessageTokens: unary('chat', countMessageTokens, async (request, call) =>
      create(CountMessageTokensResponseSchema, { tokens: await messages.countPrompt(request, call) }),
    ),
    streamMessage: chatStream(streamMessage, messages.stream.bind(messages), (event) =>
      create(StreamMessageResponseSchema, { event }),
    ),
    createCompletion: unary('chat', createCompletion, completions.create.bind(completions)),
    streamCompletion: chatStream(streamCompletion, completions.stream.bind(completions), (completion) =>
      create(StreamCompletionResponseSchema, { completion }),
    ),
  };
}

/** Chats note their first output themselves: some of it has no form in some of their APIs. */
function chatStream<I extends DescMessage, O extends DescMessage, Part>(
  ...[method, run, toMessage]: [
    DescMethodServerStreaming<I, O>,
    ServerStreamRpc<I, O, Part>['run'],
    ServerStreamRpc<I, O, Part>['toMessage'],
  ]
): ServerStreamRpc<I, O, Part> {
  return serverStream('chat', method, run, toMessage, () => false);
}

function audioRpcs({ speech, transcription, realtime, clientSecrets }: Services) {
  const {
    createTranscription,
    streamTranscription,
    uploadTranscription,
    streamTranscribe,
    createClientSecret,
  } = TranscriptionService.method;
  return {
    synthesizeSpeech: serverStream(
      'speech',
      SpeechService.method.synthesizeSpeech,
      (request, call) => singly(speech.synthesizeSpeech(request, call)),
      (response) => response,
    ),
    ...unaryRpcs('transcription', { createTranscription }, transcription),
    ...unaryRpcs('transcription', { createClientSecret }, clientSecrets),
    streamTranscription: serverStream(
      'transcription',
      streamTranscription,
      (request, call) => singly(transcription.streamTranscription(request, call)),
      (response) => response,
    ),
    uploadTranscription: {
      kind: 'client-stream' as const,
      method: uploadTranscription,
      operation: 'transcription' as const,
      run: transcription.uploadTranscription.bind(transcription),
    },
    streamTranscribe: session('transcription', streamTranscribe, realtime.streamTranscribe.bind(realtime)),
  };
}

export function allRpcs({ admin, ...others }: RpcTable): readonly Rpc[] {
  return [...Object.values(others), ...Object.values(admin)];
}

/** RPCs that are run by the functions of their names. */
function unaryRpcs<M extends UnaryMethods>(
  operation: Operation,
  methods: M,
  functions: Functions<M, Call>,
): { readonly [K in keyof M]: UnaryRpc<M[K]['input'], M[K]['output'], MessageShape<M[K]['output']>> };
function unaryRpcs(operation: Operation, methods: UnaryMethods, functions: LooseFunctions<Call>) {
  const rpcs = Object.entries(methods).map(
    ([name, method]): [string, UnaryRpc<DescMessage, DescMessage, Message>] => [
      name,
      unary(operation, method, answering(method, functions)),
    ],
  );
  return Object.fromEntries(rpcs);
}

function adminRpcs<M extends { readonly [K in AdminMethod]: DescMethodUnary }>(
  methods: M,
  functions: Functions<M, AdminCall>,
): { readonly [K in keyof M]: AdminRpc };
function adminRpcs(methods: UnaryMethods, functions: LooseFunctions<AdminCall>) {
  const rpcs = Object.entries(methods).map(([name, method]): [string, AdminRpc] => {
    const scope = adminRpcScopes[name as AdminMethod];
    return [name, { kind: 'admin', method, scope, run: answering(method, functions) }];
  });
  return Object.fromEntries(rpcs);
}

type LooseFunctions<C> = Readonly<
  Record<string, (request: Message, call: C) => Promise<Record<string, unknown>>>
>;

/** Converts the result of the function to a message. */
function answering<C>({ localName, output }: DescMethodUnary, functions: LooseFunctions<C>) {
  return async (request: Message, call: C) => create(output, await functions[localName]?.(request, call));
}

export function unary<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, call: Call) => Promise<MessageShape<O>>,
): UnaryRpc<I, O, MessageShape<O>> {
  return { kind: 'unary', method, operation, run, toMessage: (answer) => answer };
}

export function session<I extends DescMessage, O extends DescMessage>(
  operation: Operation,
  method: DescMethodBiDiStreaming<I, O>,
  run: (requests: AsyncIterable<MessageShape<I>>, call: Call) => Batches<MessageShape<O>>,
): SessionRpc<I, O> {
  return { kind: 'session', method, operation, run, isOutput: () => true };
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

/**
 * Operations whose requests are refused for unknown fields. Speech and transcription drop such fields, chat passes them
 * on, and lists of models ignore them.
 */
export const strictOperations: ReadonlySet<Operation> = new Set(['account', 'manage', 'admin']);

/** Whether the requests of an RPC are refused for unknown fields. */
export function isStrict(rpc: Rpc): boolean {
  return strictOperations.has(rpc.kind === 'admin' ? 'admin' : rpc.operation);
}

/** The scope that each admin RPC needs. The metrics need `server:read`. */
export const adminRpcScopes: { readonly [K in AdminMethod]: AdminScope } = {
  createAccount: 'accounts:write',
  listAccounts: 'accounts:read',
  getAccount: 'accounts:read',
  startTrial: 'accounts:write',
  activatePlan: 'accounts:write',
  endPlan: 'accounts:write',
  renameAccount: 'accounts:write',
  suspendAccount: 'accounts:write',
  resumeAccount: 'accounts:write',
  deleteAccount: 'accounts:write',
  setAccountLimits: 'accounts:write',
  getAlertSettings: 'alerts:read',
  setAlertSettings: 'alerts',
  listAlerts: 'alerts:read',
  sendTestAlert: 'alerts',
  sendMailConfirmation: 'alerts',
  confirmMailAddress: 'alerts',
  loadCredits: 'credits:load',
  adjustCredits: 'credits:load',
  listLedgerEntries: 'accounts:read',
  getStatement: 'accounts:read',
  createKey: 'keys',
  listKeys: 'keys',
  createAdminKey: 'keys',
  createInvitation: 'keys',
  listAdminKeys: 'keys',
  rotateKey: 'keys',
  setKeyLimits: 'keys',
  revokeKey: 'keys',
  listUsageRecords: 'usage:read',
  getUsageTotals: 'usage:read',
  listNames: 'usage:read',
  pruneUsageRecords: 'server',
  listAuditEntries: 'audit:read',
  getServerState: 'server:read',
  listNodes: 'server:read',
  diagnoseServer: 'server:read',
  loadEngine: 'server',
  unloadEngine: 'server',
  checkEngine: 'server',
  getConfiguration: 'configuration',
  changeConfiguration: 'configuration',
  undoConfigurationChange: 'configuration',
};

/** Calls that need no key: reflection of the schemas, and health. */
import { execFile } from 'node:child_process';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, MessageOptionsSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as v1 from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import * as v1alpha from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const services = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  'nvidia.riva.asr.RivaSpeechRecognition',
  'nvidia.riva.tts.RivaSpeechSynthesis',
  'parley.account.v1.AccountService',
  'parley.admin.v1.AdminService',
  'parley.alerts.v1.AlertsService',
  'parley.audio.v1.TranscriptionService',
  'parley.catalog.v1.CatalogService',
  'parley.chat.v1.ChatService',
  'parley.completions.v1.CompletionsService',
  'parley.management.v1.ManagementService',
  'parley.messages.v1.MessagesService',
  'parley.responses.v1.ResponsesService',
  'parley.speech.v1.SpeechService',
];

const openTransport: Readonly<Record<string, (origin: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  'Connect over HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
};

async function* single<T>(item: T): AsyncGenerator<T> {
  yield item;
}

type Question = v1.ServerReflectionRequest['messageRequest'];
type Answer = v1.ServerReflectionResponse['messageResponse'];

/** Uses the messages of v1 for both versions, as they are equal. */
async function ask(version: 'v1' | 'v1alpha', transport: Transport, question: Question): Promise<Answer> {
  const request = create(v1.ServerReflectionRequestSchema, { host: 'here', messageRequest: question });
  if (version === 'v1') {
    const answers = createClient(v1.ServerReflection, transport).serverReflectionInfo(single(request));
    for await (const answer of answers) return answer.messageResponse;
  } else {
    const { ServerReflection, ServerReflectionRequestSchema, ServerReflectionResponseSchema } = v1alpha;
    const alpha = fromBinary(
      ServerReflectionRequestSchema,
      toBinary(v1.ServerReflectionRequestSchema, request),
    );
    const answers = createClient(ServerReflection, transport).serverReflectionInfo(single(alpha));
    for await (const answer of answers) {
      const bytes = toBinary(ServerReflectionResponseSchema, answer);
      return fromBinary(v1.ServerReflectionResponseSchema, bytes).messageResponse;
    }
  }
  throw new Error('no answer');
}

/** The files of an answer. Checks that it has all their imports. */
function filesOf(answer: Answer): { names: string[]; isComplete: boolean } {
  if (answer.case !== 'fileDescriptorResponse') throw new Error(`got ${answer.case}`);
  const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const names = files.map(({ name }) => name);
  const isComplete = files.every(({ dependency }) => dependency.every((name) => names.includes(name)));
  return { names, isComplete };
}

let parley: Parley;
parley = await startParley();
const origin = new URL(parley.baseUrl).origin;
afterAll(() => parley.close());

describe.each(['v1', 'v1alpha'] as const)('reflection %s', (version) => {
  describe.each(Object.keys(openTransport))('over %s', (wire) => {
    const asked = (question: Question) => ask(version, openTransport[wire]?.(origin) as Transport, question);

    it('lists the services', async () => {
      const { value } = await asked({ case: 'listServices', value: '*' });
      expect(value).toMatchObject({ service: expect.anything() });
      const listed = (value as v1.ListServiceResponse).service.map(({ name }) => name);
      expect(listed.toSorted()).toEqual(services);
    });

    it.each([
      ['a service', 'parley.speech.v1.SpeechService', 'parley/speech/v1/speech_service.proto'],
      ['a method', 'parley.chat.v1.ChatService.StreamChatCompletion', 'parley/chat/v1/chat_service.proto'],
      ['a message', 'parley.chat.v1.ChatMessage', 'parley/chat/v1/chat.proto'],
      ['a field', 'parley.chat.v1.ChatMessage.role', 'parley/chat/v1/chat.proto'],
      ['a oneof', 'parley.chat.v1.MessageContent.value', 'parley/chat/v1/chat.proto'],
      ['a map entry', 'parley.chat.v1.ChatCompletionParams.logit_bias', 'parley/chat/v1/chat.proto'],
      ['a nested enum', 'grpc.health.v1.HealthCheckResponse.ServingStatus', 'health/v1/health.proto'],
      ['an imported message', 'google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
      ['an extension', 'parley.rest.v1.json_union', 'parley/rest/v1/options.proto'],
      ['the details of errors', 'google.rpc.ErrorInfo', 'google/rpc/error_details.proto'],
    ])('gives the file of %s, with all its imports', async (_, symbol, file) => {
      const { names, isComplete } = filesOf(await asked({ case: 'fileContainingSymbol', value: symbol }));
      expect(names[0]).toBe(file);
      expect(isComplete).toBe(true);
    });

    it('gives a file by its name', async () => {
      const name = 'parley/catalog/v1/catalog.proto';
      const { names, isComplete } = filesOf(await asked({ case: 'fileByFilename', value: name }));
      expect(names[0]).toBe(name);
      expect(isComplete).toBe(true);
    });

    it('gives the file of an extension, and the numbers of all', async () => {
      const containingType = MessageOptionsSchema.typeName;
      const extension = { containingType, extensionNumber: 50_100 } as v1.ExtensionRequest;
      const found = filesOf(await asked({ case: 'fileContainingExtension', value: extension }));
      expect(found.names[0]).toBe('parley/rest/v1/options.proto');
      const numbers = await asked({ case: 'allExtensionNumbersOfType', value: containingType });
      expect(numbers.value).toMatchObject({ baseTypeName: containingType });
      const { extensionNumber } = numbers.value as v1.ExtensionNumberResponse;
      expect(extensionNumber.toSorted()).toEqual([50_100, 50_101]);
    });

    it.each<[string, Question]>([
      ['symbol', { case: 'fileContainingSymbol', value: 'parley.chat.v1.Nothing' }],
      ['file', { case: 'fileByFilename', value: 'parley/nothing.proto' }],
      ['type', { case: 'allExtensionNumbersOfType', value: 'parley.Nothing' }],
      [
        'extension',
        {
          case: 'fileContainingExtension',
          value: {
            containingType: 'google.protobuf.MessageOptions',
            extensionNumber: 1,
          } as v1.ExtensionRequest,
        },
      ],
    ])('reports that there is no such %s, and continues', async (_, question) => {
      const { value } = await asked(question);
      expect(value).toMatchObject({ errorCode: Code.NotFound });
    });
  });
});

describe('reflection', () => {
  it('answers many requests of one call, in order', async () => {
    async function* questions() {
      yield { messageRequest: { case: 'listServices', value: '' } } as const;
      yield { messageRequest: { case: 'fileContainingSymbol', value: 'x' } } as const;
      yield { messageRequest: { case: undefined } } as const;
      yield { messageRequest: { case: 'listServices', value: '' } } as const;
    }
    const client = createClient(v1.ServerReflection, createGrpcTransport({ baseUrl: origin }));
    const cases: unknown[] = [];
    for await (const { messageResponse } of client.serverReflectionInfo(questions())) {
      cases.push(messageResponse.case);
    }
    expect(cases).toEqual(['listServicesResponse', 'errorResponse', 'errorResponse', 'listServicesResponse']);
  });
});

const healthTransports: Readonly<Record<string, (origin: string) => Transport>> = {
  ...openTransport,
  'Connect over HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
  'gRPC-Web': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
};

describe.each(Object.keys(healthTransports))('health over %s', (wire) => {
  const client = (at = origin) => createClient(Health, healthTransports[wire]?.(at) as Transport);

  it.each(['', ...services.filter((name) => name.startsWith('parley.'))])('`%s` serves', async (service) => {
    expect((await client().check({ service })).status).toBe(ServingStatus.SERVING);
  });

  it('answers NOT_FOUND for an unknown service', async () => {
    const failure = await client()
      .check({ service: 'parley.Nothing' })
      .catch((error: unknown) => ConnectError.from(error));
    expect(failure).toMatchObject({ code: Code.NotFound });
  });

  it('reports an unknown service to a watcher', async () => {
    const leave = new AbortController();
    for await (const { status } of client().watch({ service: 'x' }, { signal: leave.signal })) {
      expect(status).toBe(ServingStatus.SERVICE_UNKNOWN);
      break;
    }
    leave.abort();
  });

  it('reports draining to a watcher, and does not wait for it', async () => {
    const ending = await startParley({ settings: { server: { drainMs: 3_600_000 } } });
    const statuses: ServingStatus[] = [];
    let closed: Promise<void> | undefined;
    for await (const { status } of client(new URL(ending.baseUrl).origin).watch({})) {
      statuses.push(status);
      closed ??= ending.close();
    }
    await closed;
    expect(statuses).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  });
});

const run = promisify(execFile);
const buf = new URL('../../../node_modules/.bin/buf', import.meta.url).pathname;
const bufCache = join(tmpdir(), 'parley-test-buf-cache');

describe.each([
  ['gRPC', ['--protocol', 'grpc', '--http2-prior-knowledge']],
  ['gRPC-Web', ['--protocol', 'grpcweb']],
  ['Connect', ['--protocol', 'connect']],
  ['Connect over HTTP/2', ['--protocol', 'connect', '--http2-prior-knowledge']],
])('buf curl over %s, which knows the schema by reflection', (_, protocol) => {
  const reflection = protocol.includes('--http2-prior-knowledge') ? [] : ['--reflect-protocol', 'grpc-v1'];
  const curl = (method: string, data: object, key = parley.apiKey) =>
    run(
      buf,
      [
        'curl',
        ...protocol,
        ...reflection,
        ...['--header', `authorization: Bearer ${key}`],
        ...['--data', JSON.stringify(data)],
        `${origin}/${method}`,
      ],
      { env: { ...process.env, BUF_CACHE_DIR: bufCache } },
    );

  it('calls a method', async () => {
    const { stdout } = await curl('parley.catalog.v1.CatalogService/GetModel', { id: 'eliza' });
    expect(JSON.parse(stdout)).toMatchObject({ model: { id: 'eliza', context_window: 4096 } });
  });

  it('reads a stream', async () => {
    const messages = [{ role: 'user', content: { text: 'I need help.' } }];
    const { stdout } = await curl('parley.chat.v1.ChatService/StreamChatCompletion', {
      params: { model: 'eliza', messages },
    });
    expect(stdout).toContain('finish_reason');
  });

  it('receives an error with its details', async () => {
    const failure = curl('parley.catalog.v1.CatalogService/GetModel', { id: 'nope' });
    const { stderr } = (await failure.catch((error: unknown) => error)) as { stderr: string };
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'not_found',
      details: [{ type: 'google.rpc.ErrorInfo' }],
    });
  });
});

describe('calls without a key', () => {
  /** As many as a connection may run at once. */
  const atOnce = 24;
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley();
  });
  afterAll(() => parley.close());

  const watchOver = (session: ClientHttp2Session) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Watch',
      'content-type': 'application/grpc',
    });
    stream.end(Buffer.alloc(5));
    const status = new Promise<unknown>((resolve) => {
      stream.on('trailers', (trailers) => resolve(trailers['grpc-status']));
      stream.on('data', () => resolve('serving'));
    });
    return { stream, status };
  };

  it('are limited on a connection, and the next is served when one ends', async () => {
    const session = connect(new URL(parley.baseUrl).origin);
    const all = Array.from({ length: atOnce + 3 }, () => watchOver(session));
    const statuses = await Promise.all(all.map(({ status }) => status));
    expect(statuses).toEqual([...Array(atOnce).fill('serving'), '8', '8', '8']);
    const elsewhere = connect(new URL(parley.baseUrl).origin);
    expect(await watchOver(elsewhere).status).toBe('serving');
    elsewhere.destroy();
    all[0]?.stream.close();
    await expect.poll(() => watchOver(session).status).toBe('serving');
    session.destroy();
  });

  it('may send 4 KiB', async () => {
    const { origin: baseUrl } = new URL(parley.baseUrl);
    for (const transport of [
      createGrpcTransport({ baseUrl }),
      createConnectTransport({ baseUrl, httpVersion: '1.1' }),
    ]) {
      const client = createClient(Health, transport);
      const codeOf = (service: string) =>
        client.check({ service }).catch((error: unknown) => ConnectError.from(error).code);
      expect(await codeOf('x'.repeat(4_000))).toBe(Code.NotFound);
      expect(await codeOf('x'.repeat(5_000))).toBe(Code.ResourceExhausted);
    }
  });
});

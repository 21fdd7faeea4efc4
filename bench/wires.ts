/**
 * What a call costs the server in CPU, over gRPC against a bare grpc-js server and over REST against bare node:http, which
 * answer the same bytes. Parley checks the key and writes the usage record durably; the floors do neither.
 *
 *   node bench/wires.ts [rounds, default 15] [calls at once, default 16]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { create, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { Pool } from 'undici';
import { ListModelsRequestSchema } from '../gen/parley/catalog/v1/catalog_pb.ts';
import { CatalogService } from '../gen/parley/catalog/v1/catalog_service_pb.ts';
import { StreamChatCompletionRequestSchema } from '../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../gen/parley/chat/v1/chat_service_pb.ts';
import type { Started } from './servers/parent.ts';

const rounds = Number(process.argv[2] ?? 15);
const atOnce = Number(process.argv[3] ?? 16);
/** Slices of both until their code is compiled and their memory has its size. */
const warmUps = 3;

interface Served extends Started {
  cpuMs(): Promise<number>;
  stop(): void;
}

async function start(name: string): Promise<Served> {
  const child = fork(new URL(`./servers/${name}.ts`, import.meta.url));
  const [started] = (await once(child, 'message')) as [Started];
  return {
    ...started,
    async cpuMs() {
      child.send('cpu');
      const [{ cpuMs }] = (await once(child, 'message')) as [{ cpuMs: number }];
      return cpuMs;
    },
    stop: () => child.disconnect(),
  };
}

/** Resolves to the answer's bytes. */
type Call = () => Promise<Buffer>;

function listOverGrpc({ origin, key }: Served): Call {
  const client = new Client(new URL(origin).host, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const { name, input } = CatalogService.method.listModels;
  const request = toBinary(ListModelsRequestSchema, create(input));
  const serialize = () => Buffer.from(request);
  return () =>
    new Promise((resolve, reject) => {
      const path = `/${CatalogService.typeName}/${name}`;
      client.makeUnaryRequest(
        path,
        serialize,
        (bytes) => bytes,
        {},
        metadata,
        (error, answer) => (answer ? resolve(answer) : reject(error)),
      );
    });
}

function streamOverGrpc({ origin, key }: Served): Call {
  const client = new Client(new URL(origin).host, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const content = { value: { case: 'text', value: 'Hello.' } } as const;
  const params = { model: 'eliza', messages: [{ role: 'user', content }] };
  const request = toBinary(
    StreamChatCompletionRequestSchema,
    create(StreamChatCompletionRequestSchema, { params }),
  );
  const path = `/${ChatService.typeName}/${ChatService.method.streamChatCompletion.name}`;
  return () =>
    new Promise((resolve, reject) => {
      const call = client.makeServerStreamRequest(
        path,
        () => Buffer.from(request),
        (bytes) => bytes,
        {},
        metadata,
      );
      const messages: Buffer[] = [];
      call.on('data', (bytes: Buffer) => messages.push(bytes));
      call.on('error', reject);
      call.on('end', () => resolve(Buffer.concat(messages)));
    });
}

function listOverRest({ origin, key }: Served): Call {
  const pool = new Pool(origin, { connections: atOnce });
  const headers = { authorization: `Bearer ${key}` };
  return async () => {
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/api/v1/models', headers });
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    return Buffer.from(await body.arrayBuffer());
  };
}

/** CPU of the server for one call, in microseconds. */
async function cost(server: Served, call: Call, calls: number): Promise<number> {
  const before = await server.cpuMs();
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return ((await server.cpuMs()) - before) * (1000 / calls);
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The two in turn, so that a slow moment of the machine hits both. */
async function compare(
  name: string,
  parley: Served,
  floor: Served,
  make: (server: Served) => Call,
  calls: number,
) {
  const [ours, theirs] = [make(parley), make(floor)];
  if (!(await ours()).equals(await theirs())) throw new Error(`${name}: the answers differ`);
  const slice = async () => ({
    theirs: await cost(floor, theirs, calls),
    ours: await cost(parley, ours, calls),
  });
  for (let warmUp = 0; warmUp < warmUps; warmUp++) await slice();
  const pairs: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < rounds; round++) pairs.push(await slice());
  const ratios = pairs.map(({ ours, theirs }) => ours / theirs);
  const cells = [
    median(pairs.map(({ theirs }) => theirs)).toFixed(0),
    median(pairs.map(({ ours }) => ours)).toFixed(0),
    median(ratios).toFixed(2),
    `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
  ];
  process.stdout.write(`${name.padEnd(34)}${cells.map((cell) => cell.padStart(16)).join('')}\n`);
}

const [parley, grpc, http] = (await Promise.all(['parley', 'bare-grpc', 'bare-http'].map(start))) as [
  Served,
  Served,
  Served,
];
process.stdout.write(
  `server CPU a call in µs, medians of ${rounds} rounds in turn, ${atOnce} calls at once\n\n`,
);
process.stdout.write(
  `${''.padEnd(34)}${['floor', 'Parley', 'ratio', 'spread'].map((cell) => cell.padStart(16)).join('')}\n`,
);
await compare('gRPC ListModels', parley, grpc, listOverGrpc, 2000);
await compare('gRPC chat stream, 100 messages', parley, grpc, streamOverGrpc, 200);
await compare('REST GET /models', parley, http, listOverRest, 2000);
for (const server of [parley, grpc, http]) server.stop();
process.exit(0);

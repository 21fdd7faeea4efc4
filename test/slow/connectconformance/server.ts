/**
 * The suite's server: its service on Parley's port and transports. Reads the suite's request from standard input, and
 * writes its address to standard output. The argument is the file with the suite's schemas.
 */
import { readFileSync } from 'node:fs';
import { create, createFileRegistry, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { Gate } from '../../../src/core/access/gate.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { requestTimeLimit } from '../../../src/core/values/signal.ts';
import { ByteBudget } from '../../../src/transports/byte-budget.ts';
import { createConnectHandler } from '../../../src/transports/connect/routes.ts';
import { createGrpcHandler } from '../../../src/transports/grpc/routes.ts';
import type { ServerLimits } from '../../../src/transports/http/limits.ts';
import { startServer } from '../../../src/transports/http/server.ts';
import { rpcPath } from '../../../src/transports/rpc/rpcs.ts';
import { setReplyOnStream, withReply } from './reply.ts';
import { calls, suiteRpcs } from './service.ts';

const minute = 60_000;
const mebibyte = 1_048_576;
const limits: ServerLimits = {
  connectionsMax: 4_096,
  connectionsPerAddressMax: 4_096,
  headersMsMax: minute,
  headerBytesMax: 65_536,
  headerCountMax: 200,
  bodyMsMax: 10 * minute,
  requestMsMax: 10 * minute,
  stallMsMax: minute,
  keepAliveMs: minute,
  idleMs: 10 * minute,
  pingEveryMs: minute,
  pingTimeoutMs: minute,
  streamsPerConnectionMax: 250,
  sessionBytesMax: 10 * mebibyte,
  trustedProxies: [],
  proxyHeader: 'x-forwarded-for',
};

const unused = () => Promise.reject(new ParleyError('not_found'));
const quiet = () => undefined;

async function serve(bytesMax: number): Promise<number> {
  const rpcs = suiteRpcs(registry, bytesMax);
  const deps = {
    // Only an unknown path calls it.
    gate: { recordUnserved: unused } as unknown as Gate,
    clock: { now: Date.now },
    log: { info: quiet, warn: quiet, error: quiet },
    tracer: undefined,
    bytes: new ByteBudget({
      bytesMax: 256 * mebibyte,
      bytesPerAddressMax: 256 * mebibyte,
      waitMsMax: minute,
    }),
    timeLimit: requestTimeLimit(10 * minute),
    sessionTimeLimit: requestTimeLimit(10 * minute),
  };
  const rpcLimits = { messageBytesMax: bytesMax, requestElementsMax: 100_000 };
  const connect = createConnectHandler(rpcs, rpcLimits, deps, {
    jsonOptions: { registry },
    interceptors: [withReply],
  });
  const grpc = createGrpcHandler(rpcs, rpcLimits, deps);
  const paths = new Set(rpcs.map(rpcPath));
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    limits,
    handle: (request, response, client) => {
      if (!paths.has(request.url ?? '')) {
        response.statusCode = 404;
        response.end();
        return;
      }
      // Each call counts as a separate client, since calls without a key are limited per connection.
      calls.run({ headers: request.headers }, () => connect(request, response, { ...client }));
    },
    grpc: (stream, headers, client) => {
      const call = { headers };
      setReplyOnStream(stream, call);
      calls.run(call, () => grpc(stream, headers, { ...client }));
    },
  });
  return Number(new URL(server.origin).port);
}

/** The first message of standard input: its length in four bytes, then its bytes. The suite leaves the input open. */
async function readMessage(): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const piece of process.stdin) {
    bytes = Buffer.concat([bytes, piece]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE()) break;
  }
  return bytes.subarray(4);
}

function schemaOf(name: string): DescMessage {
  const schema = registry.getMessage(`connectrpc.conformance.v1.${name}`);
  if (schema === undefined) throw new Error(`the suite has no ${name}`);
  return schema;
}

const [, , schemas = ''] = process.argv;
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(schemas)));
const wanted = fromBinary(schemaOf('ServerCompatRequest'), await readMessage());
const { messageReceiveLimit } = wanted as typeof wanted & { readonly messageReceiveLimit: number };
const port = await serve(messageReceiveLimit || 20 * mebibyte);
const response = schemaOf('ServerCompatResponse');
const answer = toBinary(response, create(response, { host: '127.0.0.1', port }));
const head = Buffer.alloc(4);
head.writeUInt32BE(answer.length);
process.stdout.write(Buffer.concat([head, answer]));
process.once('SIGTERM', () => process.exit());

/** Messages compressed with gzip, in both directions, over the wires that name a compression. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { Client, compressionAlgorithms, credentials, Metadata } from '@grpc/grpc-js';
import { afterAll, describe, expect, it } from 'vitest';
import {
  GetModelRequestSchema,
  GetModelResponseSchema,
  ListModelsResponseSchema,
} from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { openHttp1 } from '../../conformance/http-client.ts';
import { startParley } from '../../support/parley.ts';

/** Larger messages are compressed. */
const packedFromBytes = 1_024;
const messageBytesMax = 20 * 1_048_576;

const parley = await startParley();
const origin = new URL(parley.baseUrl).origin;
const authorization = `Bearer ${parley.apiKey}`;
const http = openHttp1({ origin, adminKey: parley.adminKey });
afterAll(async () => {
  await http.close();
  await parley.close();
});

const post = (path: string, body: Uint8Array, headers: Record<string, string>) =>
  http.send({ method: 'POST', path, headers: { authorization, ...headers }, body });

const listModels = '/parley.catalog.v1.CatalogService/ListModels';
const listAccounts = '/parley.admin.v1.AdminService/ListAccounts';
const getModel = '/parley.catalog.v1.CatalogService/GetModel';
const connectHeaders = { 'content-type': 'application/proto', 'accept-encoding': 'gzip' };

describe('Connect', () => {
  it('accepts a compressed request', async () => {
    const request = toBinary(GetModelRequestSchema, create(GetModelRequestSchema, { id: 'eliza' }));
    const headers = { ...connectHeaders, 'content-encoding': 'gzip' };
    const answer = await post(getModel, gzipSync(request), headers);
    expect(answer.status).toBe(200);
    expect(fromBinary(GetModelResponseSchema, answer.body).model?.id).toBe('eliza');
  });

  it('compresses a large answer only for a client that accepts it', async () => {
    for (let accounts = 0; accounts < 5; accounts++) await parley.newKey();
    const json = { 'content-type': 'application/json', authorization: `Bearer ${parley.adminKey}` };
    const body = Buffer.from('{}');
    const packed = await post(listAccounts, body, { ...json, 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    const plain = await post(listAccounts, body, json);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const unpacked = gunzipSync(packed.body);
    expect(unpacked.length).toBeGreaterThan(packedFromBytes);
    expect(unpacked).toEqual(plain.body);
  });

  it('refuses an unknown compression', async () => {
    const headers = { ...connectHeaders, 'content-encoding': 'zstd' };
    const answer = await post(getModel, new Uint8Array(1), headers);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'unimplemented' });
  });
});

const packing = { sendCompression: compressionGzip, compressMinBytes: 0 };
const transports: Readonly<Record<string, () => Transport>> = {
  Connect: () => createConnectTransport({ baseUrl: origin, httpVersion: '1.1', ...packing }),
  'gRPC-Web': () => createGrpcWebTransport({ baseUrl: origin, httpVersion: '1.1', ...packing }),
  gRPC: () => createGrpcTransport({ baseUrl: origin, ...packing }),
};

describe.each(Object.keys(transports))('%s', (wire) => {
  const transport = () => transports[wire]?.() as Transport;
  const messages = [
    { role: 'user', content: { value: { case: 'text' as const, value: 'I need help. '.repeat(4) } } },
  ];

  it('accepts a compressed request and streams its answer', async () => {
    const chat = createClient(ChatService, transport());
    let text = '';
    const stream = chat.streamChatCompletion(
      { params: { model: 'eliza', messages } },
      { headers: { authorization } },
    );
    for await (const { chunk } of stream) text += chunk?.choices[0]?.delta?.content ?? '';
    expect(text.split(' ').length).toBeGreaterThan(3);
  });

  it('decompresses no more than the limit of a message', async () => {
    const chat = createClient(ChatService, transport());
    const content = { value: { case: 'text' as const, value: 'x'.repeat(messageBytesMax) } };
    const params = { model: 'eliza', messages: [{ role: 'user', content }] };
    const failure = await chat
      .createChatCompletion({ params }, { headers: { authorization } })
      .catch((error: unknown) => ConnectError.from(error));
    expect(failure).toMatchObject({ code: Code.ResourceExhausted });
  });
});

describe('gRPC by grpc-js', () => {
  it('accepts a compressed request; grpc-js does not compress the answer', async () => {
    const client = new Client(new URL(origin).host, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    });
    const metadata = new Metadata();
    metadata.set('authorization', authorization);
    const head = Promise.withResolvers<Metadata>();
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const call = client.makeUnaryRequest(
        listModels,
        () => Buffer.alloc(0),
        (bytes) => fromBinary(ListModelsResponseSchema, bytes),
        {},
        metadata,
        (error, response) => (error ? reject(error) : resolve(response?.data.length)),
      );
      call.on('metadata', head.resolve);
    });
    client.close();
    expect(answer).toBe(3);
    expect((await head.promise).get('grpc-encoding')).not.toContain('gzip');
  });
});

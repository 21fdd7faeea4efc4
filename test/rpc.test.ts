import { Code, ConnectError, createClient } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ErrorInfoSchema } from '../gen/google/rpc/error_details_pb.ts';
import { CatalogService } from '../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatService } from '../gen/parley/chat/v1/chat_service_pb.ts';
import { SpeechService } from '../gen/parley/speech/v1/speech_service_pb.ts';
import { type Parley, startParley } from './support/parley.ts';

describe('rpc', () => {
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley();
  });
  afterAll(() => parley.close());
  const origin = () => new URL(parley.baseUrl).origin;
  const transports = {
    connect: () => createConnectTransport({ baseUrl: origin(), httpVersion: '1.1' }),
    connect2: () => createConnectTransport({ baseUrl: origin(), httpVersion: '2' }),
    web: () => createGrpcWebTransport({ baseUrl: origin(), httpVersion: '1.1' }),
    grpc: () => createGrpcTransport({ baseUrl: origin() }),
  };
  it.each(Object.keys(transports) as (keyof typeof transports)[])('%s', async (name) => {
    const transport = transports[name]();
    const headers = { authorization: `Bearer ${parley.apiKey}` };
    const models = await createClient(CatalogService, transport).listModels({}, { headers });
    expect(models.data.map(({ id }) => id)).toContain('eliza');
    const chunks = [];
    const params = {
      model: 'eliza',
      messages: [{ role: 'user', content: { value: { case: 'text', value: 'hello' } } }],
    } as const;
    for await (const { chunk } of createClient(ChatService, transport).streamChatCompletion(
      { params: params as never },
      { headers },
    ))
      chunks.push(chunk);
    expect(chunks.at(-1)?.usage?.totalTokens).toBeGreaterThan(0);
    let bytes = 0;
    for await (const { audio } of createClient(SpeechService, transport).synthesizeSpeech(
      { model: 'flite', input: 'Hello.' },
      { headers },
    ))
      bytes += audio.length;
    expect(bytes).toBeGreaterThan(1000);
    const error = await createClient(CatalogService, transport)
      .listModels({})
      .catch((e) => ConnectError.from(e));
    expect(error).toMatchObject({ code: Code.Unauthenticated });
    expect((error as ConnectError).findDetails(ErrorInfoSchema)[0]).toMatchObject({
      reason: 'invalid_api_key',
      domain: 'parley',
    });
  });
});

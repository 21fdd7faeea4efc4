/** A plain answer over gRPC whose client leaves before it has read it. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, expect, it } from 'vitest';
import {
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { envelopeHead } from '../../../src/transports/rpc/envelopes.ts';
import { fakeChat, withFakes } from '../../support/fake-engines.ts';
import { startParley } from '../../support/parley.ts';

/** More than a stream buffers. */
const value = 'a'.repeat(1024 ** 2);
const content = { value: { case: 'text' as const, value } };
const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
const choices = [{ message: { role: 'assistant', content }, finishReason: 'stop' }];
const complete = async () => create(ChatCompletionSchema, { id: 'chatcmpl-1', created: 5n, choices, usage });
const parley = await startParley({ engines: withFakes({ chat: fakeChat({ complete }) }) });
afterAll(() => parley.close());

it('ends with its connection, and leaves a record', async () => {
  const session = connect(new URL(parley.baseUrl).origin, { settings: { initialWindowSize: 1_000 } });
  const stream = session.request({
    ':method': 'POST',
    ':path': '/parley.chat.v1.ChatService/CreateChatCompletion',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${parley.apiKey}`,
  });
  const messages = [{ role: 'user', content: { value: { case: 'text' as const, value: 'Hello.' } } }];
  const params = { model: 'eliza', messages };
  const request = toBinary(
    CreateChatCompletionRequestSchema,
    create(CreateChatCompletionRequestSchema, { params }),
  );
  stream.end(Buffer.concat([envelopeHead(request), request]));
  await once(stream, 'response');
  session.destroy();
  const records = async () => (await parley.books()).records.map(({ state }) => state);
  await expect.poll(records).toEqual(['ok']);
});

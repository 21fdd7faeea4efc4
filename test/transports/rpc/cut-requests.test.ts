/** Requests whose connection or stream breaks after a message that looks whole. */
import { type ClientHttp2Stream, connect } from 'node:http2';
import { create, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { CreateChatCompletionRequestSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { envelopeHead } from '../../../src/transports/rpc/envelopes.ts';
import { startParley } from '../../support/parley.ts';

const parley = await startParley();
afterAll(() => parley.close());

const messages = [{ role: 'user', content: { value: { case: 'text' as const, value: 'Hello.' } } }];
const request = create(CreateChatCompletionRequestSchema, { params: { model: 'eliza', messages } });
const binary = toBinary(CreateChatCompletionRequestSchema, request);
const json = Buffer.from(toJsonString(CreateChatCompletionRequestSchema, request));
const enveloped = Buffer.concat([envelopeHead(binary), binary]);

const bodies: [wire: string, contentType: string, body: Uint8Array][] = [
  ['Connect', 'application/json', json],
  ['Connect, binary', 'application/proto', binary],
  ['gRPC-Web', 'application/grpc-web+proto', enveloped],
  ['gRPC', 'application/grpc', enveloped],
];
const breaks: [how: string, cut: (stream: ClientHttp2Stream) => void][] = [
  ['the connection', (stream) => stream.session?.socket.destroy()],
  ['the stream', (stream) => stream.destroy(new Error('cut'))],
];
const cases = bodies.flatMap((body) => breaks.map((cut) => [...body, ...cut] as const));

/** Sends a body without its end, and breaks off once the server has it. */
async function sendCut(
  path: string,
  headers: Record<string, string>,
  body: Uint8Array,
  cut: (stream: ClientHttp2Stream) => void,
): Promise<void> {
  const session = connect(new URL(parley.baseUrl).origin);
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
  stream.on('error', () => undefined);
  await new Promise<void>((resolve) => stream.write(body, () => resolve()));
  // The server acknowledges frames in order.
  await new Promise<void>((resolve) => session.ping(() => resolve()));
  cut(stream);
  await new Promise<void>((resolve) => stream.once('close', resolve));
  session.destroy();
}

describe('a request without its end is not a request:', () => {
  it.each(cases)('%s (%s)', async (_, contentType, body, __, cut) => {
    const before = (await parley.books()).records.length;
    const added = async () => (await parley.books()).records.slice(before);
    const headers = {
      'content-type': contentType,
      authorization: `Bearer ${parley.apiKey}`,
      ...(contentType === 'application/grpc' && { te: 'trailers' }),
    };
    await sendCut('/parley.chat.v1.ChatService/CreateChatCompletion', headers, body, cut);
    const left = { state: 'cancelled', code: 'request_cancelled' };
    await expect.poll(added).toEqual([expect.objectContaining(left)]);
    // Nothing runs afterwards: another request has its own record, and no hold is left.
    expect((await parley.call('/models')).status).toBe(200);
    expect(await added()).toHaveLength(2);
    expect((await parley.books()).accounts).toContainEqual(expect.objectContaining({ held: 0n }));
  });

  it.each(breaks)('an administrator, cut with %s', async (how, cut) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${parley.adminKey}` };
    const body = Buffer.from(JSON.stringify({ name: `cut with ${how}` }));
    await sendCut('/parley.admin.v1.AdminService/CreateAccount', headers, body, cut);
    expect((await parley.admin('/accounts', { name: `whole after ${how}` })).status).toBe(200);
    const names = (await parley.books()).accounts.map(({ name }) => name);
    expect(names).toContain(`whole after ${how}`);
    expect(names).not.toContain(`cut with ${how}`);
  });
});

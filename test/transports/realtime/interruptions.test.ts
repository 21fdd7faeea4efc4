/** How responses of a conversation end early, what is kept of them, and what is paid. */
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import {
  errorOf,
  heldNothing,
  openTalk,
  responseRecords,
  says,
  startTalking,
  staysSilentAfter,
  Talk,
  type TalkClient,
} from '../../support/talk.ts';

const talk = new Talk();

const parley = await startTalking(talk);
afterAll(() => parley.close());
beforeEach(() => talk.reset());

/** A response that has spoken its first clause, whose record has ended, and goes on until it is stopped. */
async function speaking(...texts: readonly string[]): Promise<TalkClient> {
  const client = await openTalk(parley);
  talk.answer = staysSilentAfter(...texts);
  client.say('Go on.');
  const before = await spokenClauses();
  client.send({ type: 'response.create' });
  await client.next('response.output_audio.delta');
  await expect.poll(spokenClauses).toBe(before + 1);
  return client;
}

async function spokenClauses(): Promise<number> {
  const { items } = await parley.app.store.usage.list({}, { size: 1_000, after: undefined });
  return items.filter(({ operation, state }) => operation === 'speech' && state === 'ok').length;
}

async function keyOf(name: string) {
  const request = create(pb.CreateKeyRequestSchema, { accountId: parley.accountId, name });
  return parley.app.services.accounts.createKey(request, cliCall);
}

describe('a response', () => {
  it('is cancelled by its client, who pays the tokens and the clauses so far', async () => {
    const client = await speaking('One, two, three. ', 'Four');
    client.send({ type: 'response.cancel' });
    const { status, status_details, output, usage } = await client.done();
    expect([status, status_details?.reason]).toEqual(['cancelled', 'client_cancelled']);
    expect(output).toMatchObject([
      { status: 'incomplete', content: [{ type: 'output_audio', transcript: 'One, two, three. ' }] },
    ]);
    expect(usage?.output_tokens).toBeGreaterThan(3);
    expect(await responseRecords(parley, 2)).toMatchObject([
      { operation: 'speech', state: 'ok', characters: 17, units: 17 },
      { operation: 'chat', state: 'cancelled', tokens: usage?.output_tokens },
    ]);
    const spent = (await parley.books()).entries.filter(({ kind }) => kind === 'debit');
    expect(spent.at(-1)?.amount).toBeLessThan(0n);
    talk.answer = says('Yes.');
    client.send({ type: 'response.create' });
    expect((await client.done(2)).status).toBe('completed');
    client.socket.close();
    await heldNothing(parley);
  });

  it('costs nothing if it is cancelled before any of it has left', async () => {
    const client = await openTalk(parley);
    talk.answer = staysSilentAfter('This has no end');
    const before = (await parley.books()).entries.length;
    client.send({ type: 'response.create' });
    await expect.poll(() => talk.chats.length).toBe(1);
    client.send({ type: 'response.cancel' });
    expect((await client.done()).output).toEqual([]);
    expect(await responseRecords(parley, 1)).toMatchObject([{ operation: 'chat', state: 'cancelled' }]);
    expect((await parley.books()).entries).toHaveLength(before);
    client.socket.close();
  });

  it('is one at a time: a second one is refused with the id of its event', async () => {
    const client = await speaking('One, two, three. ');
    client.send({ type: 'response.create', event_id: 'second' });
    const code = 'conversation_already_has_active_response';
    expect(errorOf(await client.next('error'))).toMatchObject({ code, event_id: 'second' });
    client.send({ type: 'response.cancel' });
    talk.answer = says('Yes.');
    // Clients that interrupt ask for the next one at once.
    client.send({ type: 'response.create' });
    expect((await client.done(2)).status).toBe('completed');
    client.send({ type: 'response.cancel', event_id: 'late' });
    const late = { code: 'response_cancel_not_active', event_id: 'late' };
    expect(errorOf(await client.next('error', 2))).toMatchObject(late);
    expect(client.all('response.created')).toHaveLength(2);
    client.socket.close();
  });

  it('keeps in the history what was heard', async () => {
    const client = await speaking('One two three four. ', 'Five');
    client.send({ type: 'response.cancel' });
    const { output } = await client.done();
    const item_id = output[0]?.id;
    const cut = { type: 'conversation.item.truncate', item_id, content_index: 0 };
    client.send({ ...cut, audio_end_ms: 90_000 });
    client.send({ ...cut, audio_end_ms: -5 });
    client.send({ ...cut, audio_end_ms: 110, content_index: 1 });
    await client.next('error', 3);
    expect(client.all('error').map((event) => errorOf(event).code)).toEqual(Array(3).fill('invalid_value'));
    expect(client.all('conversation.item.truncated')).toEqual([]);
    client.send({ ...cut, audio_end_ms: 110 });
    await client.next('conversation.item.truncated');
    client.send({ type: 'conversation.item.retrieve', item_id });
    const { item } = await client.next('conversation.item.retrieved');
    expect(item).toMatchObject({ content: [{ transcript: 'One two' }] });
    talk.answer = says('Yes.');
    client.say('And?');
    client.send({ type: 'response.create' });
    await client.done(2);
    expect(talk.lastPrompt).toEqual(['user: Go on.', 'assistant: One two', 'user: And?']);
    client.socket.close();
  });

  it('sends at most 2.5 seconds and a part of it before they are heard', async () => {
    const client = await openTalk(parley);
    // 4.5 seconds of speech.
    talk.answer = says(`${'word '.repeat(90)}. `);
    const aheadMs: number[] = [];
    const askedAtMs = performance.now();
    client.socket.on('message', () => aheadMs.push(client.audioMs - (performance.now() - askedAtMs)));
    client.send({ type: 'response.create' });
    await client.done();
    expect(client.audioMs).toBeGreaterThan(4_000);
    expect(Math.max(...aheadMs)).toBeLessThanOrEqual(2_750);
    client.socket.close();
  });

  it('ends with its client, who pays what was sent', async () => {
    const client = await speaking('One, two, three. ', 'Four');
    client.socket.terminate();
    await expect
      .poll(() => responseRecords(parley, 2))
      .toMatchObject([
        { operation: 'speech', state: 'ok', units: 17 },
        { operation: 'chat', state: 'cancelled', tokens: expect.any(Number) },
      ]);
    await heldNothing(parley);
  });

  it('is not spoken on with a revoked key', async () => {
    const { key, secret } = await keyOf('short');
    const client = await openTalk(parley, undefined, secret);
    const goesOn = Promise.withResolvers<void>();
    talk.speaks = () => goesOn.promise;
    talk.answer = says('One, two, three. ', 'Four, five, six.');
    client.send({ type: 'response.create' });
    await expect.poll(() => talk.spoken.length).toBe(1);
    await parley.app.services.accounts.revokeKey(
      create(pb.RevokeKeyRequestSchema, { keyId: key?.id ?? '' }),
      cliCall,
    );
    goesOn.resolve();
    const { status, status_details } = await client.done();
    expect([status, status_details?.error?.code]).toEqual(['failed', 'invalid_api_key']);
    expect(talk.spoken).toHaveLength(1);
    client.socket.close();
    await heldNothing(parley);
  });

  it('fails with its engines, for nothing', async () => {
    const client = await openTalk(parley);
    const before = (await parley.books()).entries.length;
    talk.answer = async function* () {
      yield { content: 'One, two, three. ' };
      throw new ParleyError('upstream_error');
    };
    client.send({ type: 'response.create' });
    const { status, status_details } = await client.done();
    expect([status, status_details?.error?.code]).toEqual(['failed', 'upstream_error']);
    talk.answer = says('One, two, three. ');
    talk.speaks = () => Promise.reject(new ParleyError('upstream_error'));
    client.send({ type: 'response.create' });
    expect((await client.done(2)).status).toBe('failed');
    const [speech] = await responseRecords(parley, 1);
    expect(speech).toMatchObject({ operation: 'speech', state: 'failed', units: 0 });
    expect((await parley.books()).entries.length).toBeLessThanOrEqual(before + 1);
    client.socket.close();
    await heldNothing(parley);
  });

  it.each([
    ['length', 'incomplete', 'max_output_tokens'],
    ['content_filter', 'incomplete', 'content_filter'],
    ['stop', 'completed', undefined],
  ])('whose chat ends with %s is %s', async (finishReason, status, reason) => {
    const client = await openTalk(parley);
    talk.finishReason = finishReason;
    client.send({ type: 'response.create', response: { max_output_tokens: 10 } });
    const response = await client.done();
    expect([response.status, response.status_details?.reason]).toEqual([status, reason]);
    expect(talk.chats[0]?.maxCompletionTokens).toBe(10);
    client.socket.close();
  });

  it.each([
    ['scopes', { trial: true, credits: '1', scopes: ['transcription', 'speech'] }, 'insufficient_scope'],
    ['credits', { trial: true }, 'insufficient_credits'],
  ])('fails without %s', async (_, options, code) => {
    const client = await openTalk(parley, undefined, await parley.newKey(options));
    client.send({ type: 'response.create' });
    const { status, status_details } = await client.done();
    expect([status, status_details?.error?.code]).toEqual(['failed', code]);
    client.socket.close();
  });
});

describe('a history', () => {
  it('has its items where the client wants them', async () => {
    const client = await openTalk(parley, {
      output_modalities: ['text'],
      audio: { input: { turn_detection: null } },
    });
    client.say('B', 'item_b');
    const item = { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'A' }] };
    client.send({ type: 'conversation.item.create', item, previous_item_id: 'root' });
    client.say('C', 'item_c');
    client.say('D', 'item_d');
    client.send({ type: 'conversation.item.delete', item_id: 'item_c' });
    await client.next('conversation.item.deleted');
    const before = client.all('conversation.item.added').map((event) => event['previous_item_id']);
    expect(before).toEqual([null, null, 'item_b', 'item_c']);
    client.send({ type: 'response.create' });
    await client.done();
    expect(talk.lastPrompt).toEqual(['system: A', 'user: B', 'user: D']);
    client.socket.close();
  });

  it.each([
    ['conversation.item.retrieve', { item_id: 'none' }, 'item_retrieve_invalid_item_id'],
    ['conversation.item.delete', { item_id: 'none' }, 'item_delete_invalid_item_id'],
    [
      'conversation.item.truncate',
      { item_id: 'none', content_index: 0, audio_end_ms: 0 },
      'item_truncate_invalid_item_id',
    ],
    ['session.update', { session: { type: 'transcription' } }],
    ['transcription_session.update', { session: {} }],
    ['input_audio_buffer.commit', {}, 'input_audio_buffer_commit_empty'],
    ['conversation.item.create', { item: { type: 'message', role: 'robot', content: [] } }],
    ['conversation.item.create', { item: { type: 'message', role: 'user', content: [{ type: 'video' }] } }],
    ['conversation.item.create', { item: { type: 'mcp_call' } }],
    ['conversation.item.create', { item: { type: 'function_call_output', output: 'x' } }],
    ['response.create', { response: { instructions: 5 } }],
    ['response.create', { response: { output_modalities: ['video'] } }],
    ['response.create', { response: { tools: [{ type: 'mcp' }] } }],
    ['response.create', { response: { max_output_tokens: 0 } }],
    ['session.update', { session: { audio: { output: { voice: 'three' } } } }],
    ['session.update', { session: { instructions: 'x'.repeat(65_537) } }],
    ['session.update', { session: { tools: 'x' } }],
  ])('refuses a wrong %s with its id: %j', async (type, members, code = 'invalid_input') => {
    const client = await openTalk(parley);
    client.send({ type, event_id: 'mine', ...members });
    const error = errorOf(await client.next('error'));
    expect(error.event_id).toBe('mine');
    if (code !== 'invalid_input') expect(error).toMatchObject({ code });
    client.say('Hello?');
    client.send({ type: 'response.create' });
    expect((await client.done()).status).toBe('completed');
    client.socket.close();
  });
});

// Last, as the server then opens no other session.
describe('a server that stops', () => {
  it('ends the response before it closes', async () => {
    const client = await speaking('One, two, three. ');
    parley.app.services.realtime.drain();
    const { status, status_details } = await client.done();
    expect([status, status_details?.error?.code]).toEqual(['failed', 'overloaded']);
    expect(await client.closed).toEqual([1001, 'overloaded']);
    await heldNothing(parley);
  });
});

/** Conversations in OpenAI's Realtime protocol, with engines that a test controls. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Reports } from '../../../src/core/realtime/reports.ts';
import {
  errorOf,
  heldNothing,
  manually,
  openTalk,
  responseRecords,
  says,
  startTalking,
  Talk,
  TalkClient,
} from '../../support/talk.ts';

const talk = new Talk();

const parley = await startTalking(talk);
afterAll(() => parley.close());
beforeEach(() => talk.reset());

describe('a conversation', () => {
  it('answers what was said, in speech, and pays tokens and characters', async () => {
    const client = await openTalk(parley, { ...manually, instructions: 'Be kind.' });
    talk.answer = says('Well, ', 'I hear ', 'you. ', 'Tell me', ' more.');
    client.speak(0.5);
    client.send({ type: 'input_audio_buffer.commit' });
    client.send({ type: 'response.create' });
    const { status, output, usage } = await client.done();
    expect([status, usage]).toMatchObject(['completed', { input_tokens: 7, output_tokens: 5 }]);
    const text = 'Well, I hear you. Tell me more.';
    expect(output).toMatchObject([
      { status: 'completed', content: [{ type: 'output_audio', transcript: text }] },
    ]);
    expect(talk.lastPrompt).toEqual(['system: Be kind.', expect.stringMatching(/^user: heard 0\.[45]/)]);
    expect(talk.spoken.map(({ input, voice }) => [input, voice])).toEqual([
      ['Well, I hear you. ', 'one'],
      ['Tell me more.', 'one'],
    ]);
    expect(client.deltas('output_audio_transcript')).toBe(text);
    expect(client.audioMs).toBe(text.length * 10);
    const types = client.events.map(({ type }) => type).filter((type) => !type.endsWith('.delta'));
    expect(types.slice(types.indexOf('response.created'))).toEqual([
      'response.created',
      'conversation.item.input_audio_transcription.completed',
      'response.output_item.added',
      'conversation.item.added',
      'response.content_part.added',
      'response.output_audio.done',
      'response.output_audio_transcript.done',
      'response.content_part.done',
      'conversation.item.done',
      'response.output_item.done',
      'response.done',
    ]);
    expect(await responseRecords(parley, 3)).toMatchObject([
      { operation: 'speech', state: 'ok', characters: 13, units: 13 },
      { operation: 'speech', state: 'ok', characters: 18, units: 18 },
      { operation: 'chat', state: 'ok', tokens: 5 },
    ]);
    client.socket.close();
    await heldNothing(parley);
  });

  it('has ended well if its client closes it', async () => {
    const client = await openTalk(parley);
    client.say('Hello?');
    client.send({ type: 'response.create' });
    await client.done();
    client.socket.close(1000);
    const states = async () => {
      const { items } = await parley.app.store.usage.list({}, { size: 3, after: undefined });
      return items.map(({ operation, state }) => [operation, state]);
    };
    await expect.poll(states).toContainEqual(['transcription', 'ok']);
    expect((await states()).flat()).not.toContain('cancelled');
  });

  it('takes no more responses from a client that reads none', async () => {
    const client = await openTalk(parley, manually);
    talk.ear.goesOn = new Promise(() => undefined);
    client.speak(0.5);
    client.send({ type: 'input_audio_buffer.commit' });
    await client.next('input_audio_buffer.committed');
    const added = vi.spyOn(Reports.prototype, 'add');
    client.socket.pause();
    const response = { metadata: { text: 'x'.repeat(16_000) } };
    for (let pair = 0; pair < 2_000; pair++) {
      client.send({ type: 'response.create', response });
      client.send({ type: 'response.cancel' });
    }
    let reports = -1;
    // The system's buffers hold some 10 MB for the client.
    while (reports < added.mock.calls.length) {
      reports = added.mock.calls.length;
      await sleep(500);
    }
    expect(reports).toBeLessThan(2_000);
    added.mockRestore();
    client.socket.terminate();
    await heldNothing(parley);
  });

  it('hears what its client sends at once', async () => {
    const client = new TalkClient(parley);
    await once(client.socket, 'open');
    client.send({ type: 'session.update', session: { output_modalities: ['text'] } });
    client.send({ type: 'response.create' });
    expect((await client.done()).status).toBe('completed');
    expect(client.all('session.updated')).toHaveLength(1);
    client.socket.close();
  });

  it('waits for the text of the turn that it answers', async () => {
    const client = await openTalk(parley);
    const goesOn = Promise.withResolvers<void>();
    talk.ear.goesOn = goesOn.promise;
    client.speak(0.2);
    client.send({ type: 'input_audio_buffer.commit' });
    client.send({ type: 'response.create' });
    await client.next('response.created');
    expect(talk.chats).toEqual([]);
    goesOn.resolve();
    expect((await client.done()).status).toBe('completed');
    client.socket.close();
  });

  it('answers in text only, if the client wants', async () => {
    const client = await openTalk(parley, { ...manually, output_modalities: ['text'] });
    client.say('Hello?');
    client.send({ type: 'response.create', response: { metadata: { topic: 'x' } } });
    const response = await client.done();
    expect(response).toMatchObject({ status: 'completed', metadata: { topic: 'x' } });
    expect(response.output).toMatchObject([{ content: [{ type: 'output_text', text: 'Yes.' }] }]);
    expect([client.deltas('output_text'), talk.spoken]).toEqual(['Yes.', []]);
    client.socket.close();
  });

  it.each([
    ['audio/pcmu', 0xff],
    ['audio/pcma', 0xd5],
  ])('speaks in %s, in the voice of the client', async (type, silence) => {
    const client = await openTalk(parley, {
      audio: { output: { format: { type }, voice: 'two' }, ...manually.audio },
    });
    client.send({ type: 'response.create' });
    await client.done();
    const bytes = Buffer.concat(
      client.all('response.output_audio.delta').map(({ delta }) => Buffer.from(String(delta), 'base64')),
    );
    // 40 ms of nothing, without the few milliseconds of the filter.
    expect(bytes.length).toBeGreaterThan(280);
    expect(bytes.length).toBeLessThanOrEqual(320);
    expect([...new Set(bytes)]).toEqual([silence]);
    expect(talk.spoken[0]?.voice).toBe('two');
    client.socket.close();
  });

  it('calls functions of the client, and gets what they return', async () => {
    const tools = [
      { type: 'function', name: 'time', description: 'Tells it.', parameters: { type: 'object' } },
    ];
    const client = await openTalk(parley, {
      ...manually,
      tools,
      tool_choice: { type: 'function', name: 'time' },
    });
    talk.answer = async function* () {
      yield { toolCalls: [{ index: 0, id: 'call_1', function: { name: 'time', arguments: '{"zone"' } }] };
      yield { toolCalls: [{ index: 0, function: { arguments: ':"UTC"}' } }] };
    };
    client.say('What time is it?');
    client.send({ type: 'response.create' });
    const { output } = await client.done();
    const call = { type: 'function_call', call_id: 'call_1', name: 'time', arguments: '{"zone":"UTC"}' };
    expect(output).toMatchObject([{ ...call, status: 'completed' }]);
    expect(client.all('response.function_call_arguments.done')).toMatchObject([
      { call_id: 'call_1', arguments: call.arguments },
    ]);
    expect(talk.chats[0]).toMatchObject({ tools: [{ function: { name: 'time' } }] });
    talk.answer = says('Noon.');
    const item = { type: 'function_call_output', call_id: 'call_1', output: '12:00' };
    client.send({ type: 'conversation.item.create', item });
    client.send({ type: 'response.create', response: { tool_choice: 'none' } });
    await client.done(2);
    expect(talk.lastPrompt).toEqual(['user: What time is it?', 'assistant: ', 'tool: 12:00']);
    expect(talk.chats[1]?.toolChoice?.kind.value).toBe('none');
    client.socket.close();
  });

  it('keeps calls apart that the model numbers alike', async () => {
    const client = await openTalk(parley, manually);
    const called = (id: string, name: string, text: string) => ({
      toolCalls: [{ index: 0, id, function: { name, arguments: text } }],
    });
    talk.answer = async function* () {
      yield called('call_1', 'weather', '{"city":"Rome"}');
      yield called('call_2', 'time', '{"zone":"UTC"}');
    };
    client.say('And in Rome?');
    client.send({ type: 'response.create' });
    const { output } = await client.done();
    expect(output).toMatchObject([
      { call_id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' },
      { call_id: 'call_2', name: 'time', arguments: '{"zone":"UTC"}' },
    ]);
    client.socket.close();
  });

  it('can respond beside the conversation', async () => {
    const client = await openTalk(parley, { ...manually, output_modalities: ['text'] });
    client.say('Remember me.', 'item_me');
    const aside = [{ type: 'item_reference', id: 'item_me' }];
    const instructions = 'Name the topic.';
    client.send({ type: 'response.create', response: { conversation: 'none', input: aside, instructions } });
    const { output } = await client.done();
    expect(talk.lastPrompt).toEqual(['system: Name the topic.', 'user: Remember me.']);
    client.send({ type: 'conversation.item.retrieve', item_id: output[0]?.id, event_id: 'mine' });
    expect(errorOf(await client.next('error'))).toMatchObject({
      event_id: 'mine',
      code: 'item_retrieve_invalid_item_id',
    });
    expect(client.all('conversation.item.added')).toHaveLength(1);
    client.socket.close();
  });
});

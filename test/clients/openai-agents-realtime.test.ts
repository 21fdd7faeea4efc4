/** Voice agents of @openai/agents: with the built-in engines, and with tools. */
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from '@openai/agents/realtime';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { at24kHz } from '../support/at-24-khz.ts';
import { missingPrograms, speak } from '../support/audio-files.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { startTalking, Talk } from '../support/talk.ts';

/** Connects an agent, and keeps what it reports. */
async function connect(parley: Parley, agent: RealtimeAgent, apiKey = parley.apiKey) {
  const url = `${parley.baseUrl.replace('http', 'ws')}/realtime?model=eliza-live`;
  const session = new RealtimeSession(agent, { transport: new OpenAIRealtimeWebSocket({ url }) });
  const seen = { errors: [] as unknown[], ends: [] as string[], audioBytes: 0, interruptions: 0 };
  session.on('error', (error) => seen.errors.push(error));
  session.on('agent_end', (_, __, text) => seen.ends.push(text));
  session.on('audio', ({ data }) => {
    seen.audioBytes += data.byteLength;
  });
  session.on('audio_interrupted', () => seen.interruptions++);
  await session.connect({ apiKey });
  return { session, seen };
}

const missing = missingHearing() ?? missingPrograms('flite');
describe.skipIf(missing)(`RealtimeSession${missing ? `: ${missing}` : ''}`, () => {
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley();
  });
  afterAll(() => parley.close());

  it('talks with ELIZA, and is interrupted by speech', async () => {
    const samples = at24kHz(await speak('hello my friend'));
    const { session, seen } = await connect(
      parley,
      new RealtimeAgent({ name: 'a', instructions: 'Be brief.' }),
    );
    const say = () => {
      for (let at = 0; at < samples.length; at += 2_400)
        session.sendAudio(samples.slice(at, at + 2_400).buffer);
      // The meaning of words decides nothing here, so its turns end after a longer silence.
      session.sendAudio(new Int16Array(24_000).buffer);
    };
    say();
    await expect.poll(() => seen.ends.length).toBe(1);
    expect(seen.audioBytes).toBeGreaterThan(24_000);
    const texts = () => JSON.stringify(session.history);
    await expect.poll(texts).toMatch(/friend/);
    expect(texts()).toContain(seen.ends[0]);
    session.sendMessage('What can you do?');
    const before = seen.audioBytes;
    await expect.poll(() => seen.audioBytes).toBeGreaterThan(before);
    say();
    await expect.poll(() => seen.interruptions).toBe(1);
    session.sendMessage('Thank you.');
    await expect.poll(() => seen.ends.at(-1)).toMatch(/pleasure|rules/);
    expect(seen.errors).toEqual([]);
    session.close();
  });
});

describe('a RealtimeSession with a tool', () => {
  it('calls it, and speaks about what it returns, with a short-lived secret', async () => {
    const talk = new Talk();
    const parley = await startTalking(talk);
    talk.answer = async function* (params) {
      const isAnswered = params.messages.some(({ role }) => role === 'tool');
      if (isAnswered) yield { content: 'It is noon.' };
      else
        yield {
          toolCalls: [{ index: 0, id: 'call_1', function: { name: 'time', arguments: '{"zone":"UTC"}' } }],
        };
    };
    const zones: string[] = [];
    const time = tool({
      name: 'time',
      description: 'Tells the time.',
      parameters: z.object({ zone: z.string() }),
      execute: async ({ zone }) => {
        zones.push(zone);
        return '12:00';
      },
    });
    const openai = new OpenAI({ apiKey: parley.apiKey, baseURL: parley.baseUrl });
    const { value } = await openai.realtime.clientSecrets.create({ session: { type: 'realtime' } });
    const agent = new RealtimeAgent({ name: 'a', tools: [time] });
    const { session, seen } = await connect(parley, agent, value);
    session.sendMessage('What time is it?');
    await expect.poll(() => seen.ends.at(-1)).toBe('It is noon.');
    expect([zones, seen.errors]).toEqual([['UTC'], []]);
    expect(talk.lastPrompt.at(-1)).toBe('tool: 12:00');
    session.close();
    await parley.close();
  });
});

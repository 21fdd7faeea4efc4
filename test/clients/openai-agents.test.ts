/** Agents of @openai/agents with a tool, before upstreams with the manners of the usual servers. */
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { finalWords, type Manner, manners, playAgent, taskWords } from '../support/agent-upstream.ts';
import { startBehind } from '../support/behind-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';

const steps = ['one', 'two', 'three'];
const creditsAtFirst = 10_000_000_000n;
/** Over this API the SDK sends back no reasoning and no signatures of calls, which the others want. */
const forgetful = manners.filter(({ name }) => ['vLLM with Qwen', 'OpenAI'].includes(name));

async function work(manner: Manner, useResponses: boolean): Promise<void> {
  const upstream = await startScriptedUpstream();
  const parley = await startBehind(upstream.baseUrl, { engine: { ...manner.engine } });
  const played = playAgent(
    upstream,
    manner,
    steps.map((step) => ['write', { step }]),
  );
  const written: string[] = [];
  const write = tool({
    name: 'write',
    description: 'Writes a step.',
    parameters: z.object({ step: z.string() }),
    execute: ({ step }) => String(written.push(step)),
  });
  const agent = new Agent({ name: 'worker', instructions: 'Work.', model: 'served', tools: [write] });
  const modelProvider = new OpenAIProvider({ baseURL: parley.baseUrl, apiKey: parley.apiKey, useResponses });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const first = await runner.run(agent, `${taskWords}.`);
  const history = [...first.history, { role: 'user', content: `${taskWords} again.` } as const];
  const second = await runner.run(agent, history, { stream: true });
  await second.completed;
  expect([first.finalOutput, second.finalOutput]).toEqual([finalWords, finalWords]);
  expect(written).toEqual([...steps, ...steps]);
  expect(played.refused).toEqual([]);
  // The model costs a credit for a million tokens.
  const tokens = played.counted.reduce((sum, { prompt, completion }) => sum + prompt + completion, 0);
  const account = await parley.app.store.accounts.find('account-1');
  expect(account?.balance).toBe(creditsAtFirst - BigInt(tokens) * 1_000n);
  await parley.close();
  await upstream.stop();
}

describe('an agent of @openai/agents ends a task of three calls, and another one after it', () => {
  it.each(manners)('before $name', (manner) => work(manner, true));
  it.each(forgetful)('before $name over /chat/completions', (manner) => work(manner, false));
});

/** Python's clients from PyPI: openai, anthropic, litellm as a client, pipecat's services, and wyoming_openai. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { readPage } from '../clients/page.ts';
import { shell } from '../clients/shell.ts';
import { play, playingEngines } from '../conformance/play.ts';
import { type Parley, startParley } from '../support/parley.ts';
import type { Installed } from './clients/cache.ts';
import { installPython } from './clients/install-python.ts';

const fixedNames = new URL('../../examples/fixed-names.yaml', import.meta.url).pathname;

const sdks = await installPython('python', 10);
const wyoming = await installPython('wyoming', 12);
const missingOf = (installed: Installed) => ('missing' in installed ? installed.missing : undefined);

async function run(installed: Installed, server: Parley, ...args: readonly string[]) {
  if ('missing' in installed) throw new Error(installed.missing);
  const env = { PARLEY_BASE_URL: server.baseUrl, PARLEY_API_KEY: server.apiKey };
  const command = `exec venv/bin/python client.py`;
  const { stdout, stderr, code } = await shell(command, { env, args, cwd: installed.folder });
  if (code !== 0) throw new Error(`ended with ${code}: ${stderr}`);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((fact): unknown => JSON.parse(fact));
}

const chats = [
  ['chat', play('say one ', 'say two')],
  ['stream', play('say one ', 'say two')],
  ['leave', play('say one', 'wait')],
  ['chat', play('fail overloaded - 0')],
  ['stream', play('say one', 'fail upstream_error 500')],
  ['respond', play('say one')],
  ['unknown', 'Hello.'],
];
const answers = [
  { part: 'chat' },
  { said: 'one two', tokens: 10 },
  { part: 'stream' },
  { said: 'one ' },
  { said: 'two' },
  { part: 'leave' },
  { said: 'one' },
];

describe('clients in Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-python-'));
  const samples = join(folder, 'samples');
  const spoken = [
    ['speak', 'It is good to hear from you.', samples],
    ['transcribe', '', samples],
  ];
  let playing: Parley;
  let named: Parley;
  beforeAll(async () => {
    playing = await startParley({ engines: playingEngines() });
    named = await startParley({ file: fixedNames, settings: { voices: { access: 'open' } } });
  });
  afterAll(async () => {
    await playing.close();
    await named.close();
    rmSync(folder, { recursive: true });
  });
  const states = async () => {
    const { items } = await playing.app.store.usage.list({}, { size: 1000, after: undefined });
    return items.map(({ state }) => state);
  };
  const heard = { heard: 'it is good to hear from you' };

  describe.skipIf(missingOf(sdks) !== undefined)(`from PyPI ${missingOf(sdks) ?? ''}`, () => {
    it('openai answers, streams, leaves, tries again and fails with its documented classes', async () => {
      const before = (await states()).length;
      expect(await run(sdks, playing, 'openai', JSON.stringify(chats))).toEqual([
        ...answers,
        { part: 'chat' },
        { failed: 'InternalServerError', status: 503 },
        { part: 'stream' },
        { said: 'one' },
        { failed: 'APIError', status: null },
        { part: 'respond' },
        { said: 'one', tokens: 10 },
        { said: 'one' },
        { part: 'unknown' },
        { failed: 'BadRequestError', status: 400 },
      ]);
      // The busy engine was called twice, and there were two responses.
      expect((await states()).length - before).toBe(chats.length + 2);
      await expect.poll(states).toContain('cancelled');
    });

    it('anthropic answers, streams, leaves, counts and fails', async () => {
      const parts = [...chats.slice(0, 5), ['count', 'Hello.']];
      expect(await run(sdks, playing, 'anthropic', JSON.stringify(parts))).toEqual([
        ...answers.slice(0, 5),
        { ended: 'end_turn' },
        ...answers.slice(5),
        { part: 'chat' },
        { failed: 'ServiceUnavailableError', status: 503 },
        { part: 'stream' },
        { said: 'one' },
        { failed: 'APIStatusError', status: 200 },
        { part: 'count' },
        { counted: true },
      ]);
    });

    it.skipIf(missingHearing() !== undefined)('openai speaks, and transcribes in every form', async () => {
      expect(await run(sdks, named, 'openai', JSON.stringify(spoken))).toEqual([
        { part: 'speak' },
        { part: 'transcribe' },
        { ...heard, usage: { type: 'duration', seconds: 2 } },
        { words: 7 },
        { events: ['transcript.text.delta', 'transcript.text.done', 'transcript.text.segment'] },
        { srt: expect.stringMatching(/^1\n00:00:00,\d{3} --> 00:00:01,\d{3}\nit is good/) },
      ]);
      expect(statSync(samples).size).toBeGreaterThan(48_000);
    });

    it('litellm answers, streams, leaves and fails', async () => {
      expect(await run(sdks, playing, 'litellm', JSON.stringify(chats))).toEqual([
        ...answers,
        { part: 'chat' },
        { failed: 'ServiceUnavailableError', status: 503 },
        { part: 'stream' },
        { said: 'one' },
        { failed: 'MidStreamFallbackError', status: 500 },
        { part: 'respond' },
        { said: 'one', tokens: 10 },
        { part: 'unknown' },
        { failed: 'BadRequestError', status: 400 },
      ]);
    });

    it.skipIf(missingHearing() !== undefined).each(['litellm', 'pipecat'])(
      '%s speaks and transcribes',
      async (client) => {
        rmSync(samples, { force: true });
        expect(await run(sdks, named, client, JSON.stringify(spoken))).toEqual([
          { part: 'speak' },
          { part: 'transcribe' },
          heard,
        ]);
        expect(statSync(samples).size).toBeGreaterThan(48_000);
      },
    );

    it.skipIf(missingHearing() !== undefined).each(['server', 'local'])(
      'pipecat listens live, with turns that end by detection: %s',
      async (detection) => {
        const body = { model: 'tts-1', voice: 'alloy', input: 'It is good to hear from you.' };
        const speech = await named.postJson('/audio/speech', { ...body, response_format: 'pcm' });
        writeFileSync(samples, Buffer.from(await speech.arrayBuffer()));
        expect(await run(sdks, named, 'pipecat', JSON.stringify([['listen', detection, samples]]))).toEqual([
          { part: 'listen' },
          { heard: expect.stringMatching(/good to hear from you/) },
        ]);
      },
    );

    it.skipIf(missingHearing() !== undefined)('pipecat talks in a conversation', async () => {
      if ('missing' in sdks) throw new Error(sdks.missing);
      const parley = await startParley();
      const program = 'pipecat_llm.py';
      writeFileSync(join(sdks.folder, program), readPage('../realtime').file(program));
      const body = { model: 'flite', voice: 'rms', input: 'It is good to hear from you.' };
      const speech = await parley.postJson('/audio/speech', { ...body, response_format: 'pcm' });
      writeFileSync(samples, Buffer.from(await speech.arrayBuffer()));
      const facts = await run(sdks, parley, 'pipecat', JSON.stringify([['talk', samples]]));
      await parley.close();
      expect(facts).toEqual([{ part: 'talk' }, { said: expect.stringMatching(/\w+/), spoken: true }]);
    });

    it('pipecat streams an answer, and reports a failure as a frame', async () => {
      const parts = [
        ['chat', play('say one ', 'say two')],
        ['chat', play('fail upstream_error 400')],
      ];
      expect(await run(sdks, playing, 'pipecat', JSON.stringify(parts))).toEqual([
        { part: 'chat' },
        { said: 'one ' },
        { said: 'two' },
        { part: 'chat' },
        { failed: 'ErrorFrame' },
      ]);
    });
  });

  it.skipIf(missingOf(wyoming) !== undefined || missingHearing() !== undefined)(
    `wyoming_openai lists the voices, speaks and transcribes ${missingOf(wyoming) ?? ''}`,
    async () => {
      const [voices, ...others] = await run(wyoming, named);
      expect(voices).toEqual({ voices: expect.arrayContaining(['alloy', 'ash', 'cedar']) });
      expect(others).toEqual([
        { models: ['whisper-1'] },
        { rate: 16_000, channels: 1 },
        { heard: expect.stringMatching(/good to hear/) },
      ]);
    },
  );
});

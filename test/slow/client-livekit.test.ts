/** LiveKit's plugin for servers of the OpenAI API. Its packages have some 290 MB. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { readPage } from '../clients/page.ts';
import { mustRun, shell } from '../clients/shell.ts';
import { play, playingEngines } from '../conformance/play.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { installClient, installMsMax } from './clients/cache.ts';

const source = new URL('clients/livekit', import.meta.url).pathname;
const installed = await installClient(source, 'package.json', (cwd) =>
  mustRun('npm install --ignore-scripts --no-audit --no-fund --fetch-retries 1', {
    cwd,
    timeoutMs: installMsMax,
  }),
);
const missing = 'missing' in installed ? installed.missing : undefined;
const program = 'folder' in installed ? join(installed.folder, 'client.mjs') : '';

describe.skipIf(missing !== undefined)(
  `@livekit/agents-plugin-openai${missing ? ` (${missing})` : ''}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-livekit-'));
    const samples = join(folder, 'samples');
    let parley: Parley;
    let playing: Parley;
    beforeAll(async () => {
      parley = await startParley();
      playing = await startParley({ engines: playingEngines() });
    });
    afterAll(async () => {
      await parley.close();
      await playing.close();
      rmSync(folder, { recursive: true });
    });

    const run = async (server: Parley, ...args: readonly string[]) => {
      const env = { PARLEY_BASE_URL: server.baseUrl, PARLEY_API_KEY: server.apiKey };
      const { stdout, stderr, code } = await shell(`exec ${process.execPath} ${program}`, { env, args });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const facts = stdout.trim().split('\n').filter(Boolean);
      return facts.map((fact): unknown => JSON.parse(fact));
    };
    const states = async () => {
      const { items } = await playing.app.store.usage.list({}, { size: 1000, after: undefined });
      return items.map(({ state }) => state);
    };

    it('starts the program of the guide', async () => {
      const file = program.replace('client.mjs', 'agent.mjs');
      writeFileSync(file, readPage('../livekit').file('agent.mjs'));
      const { code, stdout, stderr } = await shell(`exec ${process.execPath} ${file} --help`, {});
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^\s+dev /m);
    });

    it('streams a chat, with its usage', async () => {
      expect(await run(playing, 'chat', play('say one ', 'say two'))).toEqual([
        { said: 'one ' },
        { said: 'two' },
        { usage: { input: 7, output: 3 } },
      ]);
    });

    it('tries again if the engine is busy, then reports why', async () => {
      const before = (await states()).length;
      const failed = 'The server is busy. Wait, then try again.';
      expect(await run(playing, 'chat', play('fail overloaded - 0'))).toEqual([
        { failed, isRetried: true },
        { failed, isRetried: true },
        { failed, isRetried: false },
      ]);
      expect((await states()).length - before).toBe(3);
    });

    it('reports an answer that breaks off, and does not repeat the request', async () => {
      const facts = await run(playing, 'chat', play('say one', 'fail upstream_error 500'));
      expect(facts).toEqual([
        { said: 'one' },
        { failed: 'The engine behind this model failed. Try again.', isRetried: false },
      ]);
    });

    it('stops the model when it leaves', async () => {
      expect(await run(playing, 'leave', play('say one', 'wait'))).toEqual([{ said: 'one' }]);
      await expect.poll(states).toContain('cancelled');
    });

    it('speaks at the expected rate', async () => {
      const facts = await run(parley, 'speak', 'It is good to hear from you.', samples);
      expect(facts).toEqual([{ rate: 24_000, channels: 1 }]);
      expect(statSync(samples).size).toBeGreaterThan(48_000);
    });

    it.skipIf(missingHearing() !== undefined)('transcribes', async () => {
      expect(await run(parley, 'transcribe', '', samples)).toEqual([
        { heard: expect.stringMatching(/good to hear/) },
      ]);
    });

    // The plugin commits the turns of the second model itself.
    it.skipIf(missingHearing() !== undefined).each(['gpt-4o-transcribe', 'gpt-realtime-whisper'])(
      'listens live, as to %s',
      async (model) => {
        expect(await run(parley, 'listen', model, samples)).toEqual([
          { heard: expect.stringMatching(/good to hear/) },
        ]);
      },
    );
  },
);

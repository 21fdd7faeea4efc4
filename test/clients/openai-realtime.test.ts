/** OpenAI's own realtime client, with the built-in recogniser. */
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { at24kHz } from '../support/at-24-khz.ts';
import { missingPrograms, speak } from '../support/audio-files.ts';
import { makeCertificate } from '../support/certificates.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { shell } from './shell.ts';

const missing = missingHearing() ?? missingPrograms('flite');
const { cert, key } = makeCertificate('localhost');
let folder = '';
let parley: Parley;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-realtime-'));
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  writeFileSync(tls.cert, cert);
  writeFileSync(tls.key, key);
  parley = await startParley({ settings: { tls } });
});
afterAll(async () => {
  await parley.close();
  rmSync(folder, { recursive: true });
});

describe('OpenAIRealtimeWebSocket, as browsers have it', () => {
  it('opens a session with a short-lived secret, which has its settings', async () => {
    const authorities = getCACertificates('default');
    setDefaultCACertificates([...authorities, cert]);
    const baseURL = parley.baseUrl.replace('127.0.0.1', 'localhost');
    const server = new OpenAI({ apiKey: parley.apiKey, baseURL });
    const session = { type: 'realtime' as const, instructions: 'Be brief.' };
    const { value, expires_at } = await server.realtime.clientSecrets.create({
      expires_after: { anchor: 'created_at', seconds: 600 },
      session,
    });
    expect(value).toMatch(/^ek_/);
    expect(expires_at - Date.now() / 1000).toBeGreaterThan(590);
    const browser = new OpenAI({ apiKey: value, baseURL, dangerouslyAllowBrowser: true });
    const realtime = new OpenAIRealtimeWebSocket({ model: 'eliza-live' }, browser);
    const created = await new Promise<object>((resolve, reject) => {
      realtime.on('error', reject);
      realtime.on('session.created', ({ session }) => resolve(session));
    });
    expect(created).toMatchObject(session);
    realtime.close();
    await expect(browser.models.list()).rejects.toThrow('realtime sessions alone');
    setDefaultCACertificates(authorities);
  });
});

describe.skipIf(missing)(`OpenAIRealtimeWS${missing ? `: ${missing}` : ''}`, () => {
  it.each([
    ['by silence', { type: 'server_vad' as const }],
    ['by its commit', null],
  ])('gets the text of a turn that ends %s', async (_, turnDetection) => {
    const samples = at24kHz(await speak('hello my friend'));
    const baseURL = parley.baseUrl.replace('127.0.0.1', 'localhost');
    const client = new OpenAI({ apiKey: parley.apiKey, baseURL });
    const realtime = new OpenAIRealtimeWS({ intent: 'transcription', options: { ca: cert } }, client);
    const text = await new Promise<string>((resolve, reject) => {
      realtime.on('error', reject);
      realtime.on('session.created', () => {
        const input = {
          format: { type: 'audio/pcm' as const, rate: 24_000 as const },
          turn_detection: turnDetection,
        };
        realtime.send({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
      });
      realtime.on('session.updated', () => {
        const bytes = Buffer.from(samples.buffer);
        for (let at = 0; at < bytes.length; at += 4_800) {
          const audio = bytes.subarray(at, at + 4_800).toString('base64');
          realtime.send({ type: 'input_audio_buffer.append', audio });
        }
        if (turnDetection === null) realtime.send({ type: 'input_audio_buffer.commit' });
      });
      realtime.on('conversation.item.input_audio_transcription.completed', ({ transcript }) =>
        resolve(transcript),
      );
    });
    expect(text).toContain('friend');
    realtime.close();
  });

  it('talks: its speech is answered, and interrupts the answer', async () => {
    const samples = at24kHz(await speak('hello my friend'));
    const baseURL = parley.baseUrl.replace('127.0.0.1', 'localhost');
    const client = new OpenAI({ apiKey: parley.apiKey, baseURL });
    const realtime = new OpenAIRealtimeWS({ model: 'eliza-live', options: { ca: cert } }, client);
    const errors: unknown[] = [];
    realtime.on('error', (error) => errors.push(error));
    const statuses: unknown[] = [];
    let [audioBytes, created] = [0, 0];
    realtime.on('response.created', () => created++);
    realtime.on('response.output_audio.delta', ({ delta }) => {
      audioBytes += Buffer.from(delta, 'base64').length;
    });
    realtime.on('response.done', ({ response }) => statuses.push(response.status));
    const say = () => {
      const bytes = Buffer.from(samples.buffer);
      for (let at = 0; at < bytes.length; at += 4_800) {
        const audio = bytes.subarray(at, at + 4_800).toString('base64');
        realtime.send({ type: 'input_audio_buffer.append', audio });
      }
    };
    await new Promise((resolve) => realtime.once('session.created', resolve));
    say();
    await expect.poll(() => statuses).toEqual(['completed']);
    expect(audioBytes).toBeGreaterThan(24_000);
    const content = [{ type: 'input_text' as const, text: 'What can you do?' }];
    realtime.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    realtime.send({ type: 'response.create' });
    // The answer lasts some ten seconds, and is sent as it is spoken.
    const before = audioBytes;
    await expect.poll(() => audioBytes).toBeGreaterThan(before);
    say();
    await expect.poll(() => statuses).toEqual(['completed', 'cancelled', 'completed']);
    expect([created, errors]).toEqual([3, []]);
    realtime.close();
  });

  it.each([
    ['live.ts', /friend/],
    ['talk.ts', /^.+\ncompleted, with \d\.\d+ seconds of speech\n$/],
  ])('runs %s of docs/realtime.md', async (program, output) => {
    const samples = at24kHz(await speak('hello my friend'));
    writeFileSync(join(folder, 'speech.pcm'), Buffer.from(samples.buffer));
    writeFileSync(join(folder, program), readPage('../realtime').file(program));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    const modules = join(folder, 'node_modules');
    if (!existsSync(modules)) symlinkSync(new URL('../node_modules', import.meta.url).pathname, modules);
    const env = {
      PARLEY_API_KEY: parley.apiKey,
      PARLEY_BASE_URL: parley.baseUrl.replace('127.0.0.1', 'localhost'),
      NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'),
    };
    const { code, stdout, stderr } = await shell(`'${process.execPath}' ${program}`, { cwd: folder, env });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(output);
  });
});

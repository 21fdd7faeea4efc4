/** Live sessions of a server that reloads its configuration, and then stops. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { readBooks } from '../support/books.ts';
import { scratchFolder, serve, until } from '../support/command-line.ts';
import { checkExact, openAccounts } from '../support/kept-promises.ts';
import { LiveClient } from '../support/live-client.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from '../support/upstream-answers.ts';

it('go on through SIGHUP, and after SIGTERM have the text of the turn that was spoken', async () => {
  const upstream = await startScriptedUpstream();
  upstream.answer('/audio/transcriptions', json({ text: 'Yes.' }));
  const folder = scratchFolder();
  const settings = {
    engines: { upstream: { kind: 'openai', baseUrl: upstream.baseUrl, models: { heard: 'm' } } },
    models: [{ id: 'heard', type: 'transcription', engine: 'upstream' }],
  };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
  const dataDir = folder.file('data');
  const server = await serve(['--data-dir', dataDir, '--demo'], { cwd: folder.path });
  const { apiKey } = await openAccounts(server.baseUrl, dataDir);

  const rpc = new LiveClient({ baseUrl: server.baseUrl, apiKey });
  rpc.configure();
  rpc.speak(new Int16Array(16_000));
  const url = `${server.baseUrl.replace('http', 'ws')}/realtime?intent=transcription&model=gpt-realtime-whisper`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${apiKey}` } });
  const events: string[] = [];
  socket.on('message', (data) => events.push(JSON.parse(String(data)).type));
  await once(socket, 'open');
  const audio = Buffer.alloc(48_000).toString('base64');
  const speak = () => socket.send(JSON.stringify({ type: 'input_audio_buffer.append', audio }));
  speak();
  const records = () => readBooks(dataDir).records;
  await until(() => records().length === 4);

  server.kill('SIGHUP');
  await until(() => server.stderr().includes('reloaded'));
  rpc.speak(new Int16Array(16_000));
  speak();
  rpc.commit();
  expect(await rpc.next('turn')).toMatchObject({ seconds: 2, text: 'Yes.' });
  // In one message, so that the server has all of it when the record of the turn has begun.
  rpc.send({ case: 'audio', value: new Uint8Array(32_000) });
  await until(() => records().length === 5);

  const closed = once(socket, 'close');
  server.kill('SIGTERM');
  expect(await rpc.ended).toBe('overloaded');
  expect(rpc.all('turn').map(({ seconds }) => seconds)).toEqual([2, 1]);
  const [code] = await closed;
  expect(code).toBe(1001);
  expect(events).toContain('conversation.item.input_audio_transcription.completed');
  expect(await server.ended).toEqual({ code: 0, signal: null });
  const books = readBooks(dataDir);
  checkExact(books);
  expect(books.units.map(({ used }) => used)).toEqual([5 * 15]);
  await upstream.stop();
  folder.remove();
});

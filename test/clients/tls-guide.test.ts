/** The guide to TLS: certificate, configurations and proxies are used as the page shows them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { missingPrograms } from '../support/audio-files.ts';
import { freePort } from '../support/http-server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { scratchPath } from '../support/scratch-path.ts';
import { readPage } from './page.ts';
import { mustRun, shell } from './shell.ts';

const root = new URL('../..', import.meta.url).pathname;
const command = `${process.execPath} ${join(root, 'src/main.ts')}`;
const page = readPage('../tls');
const folder = scratchPath('tls');
const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];

beforeAll(() => mustRun(page.command('certificate'), { cwd: folder }));

/** A file of the page, with the certificate that the page makes. */
const withCertificate = (name: string) =>
  page.file(name).replaceAll('/etc/parley/cert.pem', cert).replaceAll('/etc/parley/key.pem', key);

describe('the guide to TLS', () => {
  it('makes a certificate with which the server and its commands work', async () => {
    const parley = await startParley({ settings: { tls: { cert, key } } });
    const { port } = new URL(parley.baseUrl);
    for (const name of ['call', 'commands']) {
      const shown = page.command(name).replaceAll('localhost:8080', `localhost:${port}`);
      const run = shown.replaceAll('./parley', command);
      const ended = await shell(run, { cwd: folder, env: { KEY: parley.apiKey } });
      expect([name, ended.code, ended.code === 0 ? '' : ended.stderr]).toEqual([name, 0, '']);
      expect(ended.stdout).toContain('flite');
    }
    await parley.close();
  });

  it.each(['parley.yaml', 'proxied.yaml'])('has a valid %s', async (name) => {
    writeFileSync(join(folder, 'parley.yaml'), withCertificate(name));
    const { code, stdout, stderr } = await shell(`${command} config check`, { cwd: folder });
    expect([code, code === 0 ? '' : stdout + stderr]).toEqual([0, '']);
  });
});

interface Proxy {
  readonly program: string;
  /** Writes the page's configuration for a port of this machine, and returns the command that starts the proxy. */
  readonly configure: (port: number, upstream: string) => string;
}

const proxies: readonly Proxy[] = [
  {
    program: 'nginx',
    configure: (port, upstream) => {
      const own = withCertificate('parley.conf')
        .replace('listen 443', `listen ${port}`)
        .replaceAll('127.0.0.1:8080', upstream);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      const http = `http { access_log off; ${paths.join(' ')} ${own} }`;
      writeFileSync(
        join(folder, 'nginx.conf'),
        `pid ${folder}/pid; daemon off; user root; events {} ${http}`,
      );
      return `exec nginx -p '${folder}' -c '${folder}/nginx.conf' -e '${folder}/error.log'`;
    },
  },
  {
    program: 'caddy',
    configure: (port, upstream) => {
      const own = page
        .file('Caddyfile')
        .replace('{\n', `{\ntls ${cert} ${key}\n${page.file('live')}\n`)
        .replace('parley.example.com', `https://localhost:${port}`)
        .replaceAll('127.0.0.1:8080', upstream);
      writeFileSync(join(folder, 'Caddyfile'), `{\nadmin off\nauto_https disable_redirects\n}\n${own}`);
      return `exec caddy run --config '${folder}/Caddyfile' --adapter caddyfile`;
    },
  },
];

describe.each(proxies)('$program in front, as the guide to TLS shows it', ({ program, configure }) => {
  const missing = missingPrograms(program);

  it.skipIf(missing !== undefined)(
    `passes REST, a stream, gRPC and a WebSocket ${missing ?? ''}`,
    async () => {
      const parley: Parley = await startParley({ settings: { server: { trustedProxies: ['127.0.0.1'] } } });
      const port = await freePort();
      const proxy = spawn('/bin/sh', ['-c', configure(port, new URL(parley.baseUrl).host)], {
        env: { ...process.env, HOME: folder },
        stdio: 'ignore',
      });
      const ended = once(proxy, 'exit');
      const env = { KEY: parley.apiKey, BASE: `https://localhost:${port}`, CERT: cert };
      const run = async (line: string) => {
        const { code, stdout, stderr } = await shell(line, { env });
        expect([line, code, code === 0 ? '' : stdout + stderr]).toEqual([line, 0, '']);
        return stdout;
      };
      try {
        const curl = 'curl -sf --cacert "$CERT" -H "Authorization: Bearer $KEY"';
        expect(
          await run(`${curl} --retry 30 --retry-connrefused --retry-delay 1 $BASE/api/v1/models`),
        ).toContain('eliza');
        const chat = JSON.stringify({
          model: 'eliza',
          stream: true,
          messages: [{ role: 'user', content: 'Hello.' }],
        });
        expect(await run(`${curl} -N $BASE/api/v1/chat/completions -d '${chat}'`)).toContain('[DONE]');
        const rpc = '$BASE/parley.catalog.v1.CatalogService/ListModels';
        expect(
          await run(
            `npx @bufbuild/buf curl --protocol grpc --cacert "$CERT" -H "Authorization: Bearer $KEY" ${rpc}`,
          ),
        ).toContain('eliza');
        const upgrade = '-H "Connection: Upgrade" -H "Upgrade: websocket" -H "Sec-WebSocket-Version: 13"';
        const opened = `${curl} --http1.1 -i --max-time 5 ${upgrade} -H "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="`;
        expect(
          await run(`(${opened} "$BASE/api/v1/realtime?intent=transcription" || :) | head -c 60`),
        ).toContain('101');
      } finally {
        proxy.kill('SIGTERM');
        await ended;
        await parley.close();
      }
    },
  );
});

/**
 * Opens two sources in a network of its own, where 93.184.216.34 is this machine too, and prints what the hosts saw. The first source
 * redirects to the public address, which has the file; the second one is redirected back from there.
 */
import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { openSource } from '../../src/models/source.ts';
import { makeCertificate } from './certificates.ts';

const tls = makeCertificate('hosts');
const tokens: Record<string, string | undefined> = {};

async function start(host: string, redirects: Record<string, string> = {}): Promise<string> {
  const server = https.createServer(tls, ({ url = '', headers }, response) => {
    tokens[url] = headers.authorization;
    const { [url]: location } = redirects;
    if (location === undefined) response.end('the file');
    else response.writeHead(302, { location }).end();
  });
  await once(server.listen(0, host), 'listening');
  return `https://${host}:${(server.address() as AddressInfo).port}`;
}

const open = (origin: string, path: string) =>
  openSource(origin + path, { token: { origin, value: 'secret' } });

const redirects: Record<string, string> = {};
const near = await start('127.0.0.1', redirects);
const far = await start('93.184.216.34', { '/back': `${near}/private` });
Object.assign(redirects, { '/away': `${far}/file`, '/there-and-back': `${far}/back` });

const { body } = await open(near, '/away');
const content = await text(body);
const refusal = await open(near, '/there-and-back').catch((error: Error) => error.message);
process.stdout.write(JSON.stringify({ content, refusal, tokens }));
process.exit();

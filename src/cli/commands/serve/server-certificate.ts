/** How clients on the server's machine can trust its certificate. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { getCACertificates } from 'node:tls';
import type { Trust } from './demo-banner.ts';

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The same address by a name in the certificate: `localhost`, if the certificate has only that one. */
export function namedUrl(baseUrl: string, certFile: string): string {
  const url = new URL(baseUrl);
  const [certificate] = readChain(certFile);
  if (certificate === undefined || covers(certificate, hostOf(url)) || !covers(certificate, 'localhost'))
    return baseUrl;
  if (!['127.0.0.1', '::1'].includes(hostOf(url))) return baseUrl;
  return baseUrl.replace(url.host, `localhost:${url.port}`);
}

/** The options that make a client accept the server's certificate at this address. */
export function trustFor(baseUrl: string, certFile: string): Trust {
  const chain = readChain(certFile);
  const [certificate, last] = [chain[0], chain.at(-1)];
  if (certificate === undefined || last === undefined) return {};
  const isKnown = getCACertificates('bundled').some((root) => last.checkIssued(new X509Certificate(root)));
  const [, name] = /DNS:([^,\s]+)/.exec(certificate.subjectAltName ?? '') ?? [];
  return {
    ...(!isKnown && { caFile: certFile }),
    ...(!covers(certificate, hostOf(new URL(baseUrl))) && name && { name: name.replace('*', 'parley') }),
  };
}

function readChain(file: string): X509Certificate[] {
  const blocks = readFileSync(file, 'utf8').match(block) ?? [];
  return blocks.map((pem) => new X509Certificate(pem));
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function covers(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

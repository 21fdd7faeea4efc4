import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { json } from 'node:stream/consumers';

/**
 * Gets a JSON document without a key, whatever the status. Accepts any certificate, as this machine's address is rarely
 * in it. Nothing secret is sent, and nothing important depends on the answer.
 */
export function probe(url: URL, signal: AbortSignal): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const options = { signal, rejectUnauthorized: false };
  const request = url.protocol === 'https:' ? getHttps(url, options) : getHttp(url, options);
  request.on('response', (response) => resolve(json(response))).on('error', reject);
  return promise;
}

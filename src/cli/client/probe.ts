import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { json } from 'node:stream/consumers';
import * as z from 'zod';

const health = z.object({ status: z.string(), reason: z.string().optional() });

/**
 * Asks a server how it is, at `/healthz` or `/readyz`, without a key. Undefined if the answer is not that of a Parley. Accepts any
 * certificate, as this machine's address is rarely in it: nothing secret is sent, and nothing important depends on the answer.
 */
export async function probe(url: URL, signal: AbortSignal): Promise<z.infer<typeof health> | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const options = { signal, rejectUnauthorized: false };
  const request = url.protocol === 'https:' ? getHttps(url, options) : getHttp(url, options);
  request.on('response', (response) => resolve(json(response))).on('error', reject);
  return health.safeParse(await promise).data;
}

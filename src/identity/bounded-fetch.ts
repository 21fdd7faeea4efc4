/** Fetches from the identity provider: over TLS, within a time and a number of bytes. */
import { CollectedBytes } from '../core/values/collected-bytes.ts';
import { isSafeUrl } from '../core/values/safe-url.ts';

const answerBytesMax = 262_144;
export const answerMsMax = 10_000;

/** @throws TypeError as `fetch`; Error for an unsafe URL or an answer that is too large */
export async function boundedFetch(url: string, options: object): Promise<Response> {
  if (!isSafeUrl(url)) throw new Error('the provider names a URL without TLS');
  const signal = AbortSignal.timeout(answerMsMax);
  const response = await fetch(url, { ...options, redirect: 'manual', signal });
  const body = new CollectedBytes();
  for await (const piece of response.body ?? []) {
    if (body.length + piece.length > answerBytesMax)
      throw new Error('the answer of the provider is too large');
    body.add(piece);
  }
  const { status } = response;
  const headers = new Headers(response.headers);
  // The body is decoded, and its length may differ.
  for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  return new Response(body.length === 0 ? null : new Uint8Array(body.bytes), { status, headers });
}

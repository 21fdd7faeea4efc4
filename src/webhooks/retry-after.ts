/** How long a receiver that has too many requests asks to wait: in the header `Retry-After`, or as Matrix does, in JSON. */
import type { Dispatcher } from 'undici';

const tooManyRequests = 429;
const bodyBytesMax = 4_096;

/** Undefined if it does not say. A date counts as none. */
export async function retryAfterMs(
  answer: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>,
): Promise<number | undefined> {
  if (answer.statusCode !== tooManyRequests) return undefined;
  const header = answer.headers['retry-after'];
  if (typeof header === 'string' && /^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  try {
    const { retry_after_ms: waitMs } = (JSON.parse(await beginning(answer.body)) ?? {}) as {
      retry_after_ms?: unknown;
    };
    return Number.isSafeInteger(waitMs) && Number(waitMs) > 0 ? Number(waitMs) : undefined;
  } catch {
    return undefined;
  }
}

async function beginning(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= bodyBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bodyBytesMax).toString();
}

/** Server-sent events, as the API's clients read them. */
import type { JsonValue } from '@bufbuild/protobuf';
import type { Batches } from '../../core/batches.ts';
import { toParleyError } from '../../core/errors.ts';
import { errorBody } from './errors.ts';
import type { Exchange } from './exchange.ts';

const sseHeaders: Record<string, string> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Keeps reverse proxies from holding tokens back.
  'x-accel-buffering': 'no',
};

function sseEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Ends a whole answer; an answer without it was cut short. */
export const sseDone = 'data: [DONE]\n\n';

/**
 * Sends each part as an event, those of a batch at once, the first of them together with the status. An error before it
 * is thrown, for an answer of its own; one after it becomes the last event, as clients look for an `error` member and for
 * the missing end.
 *
 * @returns whether all parts were sent
 */
export async function sendEvents<T>(
  exchange: Exchange,
  batches: Batches<T>,
  toEvent: (part: T) => JsonValue,
): Promise<boolean> {
  let hasBegun = false;
  try {
    for await (const parts of batches) {
      if (!hasBegun) exchange.begin(sseHeaders);
      hasBegun = true;
      await exchange.write(parts.map((part) => sseEvent(toEvent(part))).join(''));
    }
    return true;
  } catch (thrown) {
    const error = toParleyError(thrown);
    if (!hasBegun || error.code === 'request_cancelled') throw error;
    await exchange.write(sseEvent(errorBody(error)));
    return false;
  }
}

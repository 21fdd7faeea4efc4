/** Sends server-sent events. */
import type { StreamOptions } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Batches } from '../../core/values/batches.ts';
import type { ParleyError } from '../../core/values/errors.ts';
import { errorBody } from './errors.ts';
import type { Exchange } from './exchange.ts';

const sseHeaders: Record<string, string> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Keeps reverse proxies from buffering tokens.
  'x-accel-buffering': 'no',
};

/** Ends a complete chat stream. A stream without it was cut short. */
const sseDone = 'data: [DONE]\n\n';

/** A comment, which parsers of events skip. */
const waitingComment = ': waiting\n\n';

interface EventForm<T> {
  toEvent(part: T): string;
  /** Says that the stream lives, so that proxies and clients do not give up. Default: a comment. */
  readonly ping?: string;
  /** Returns undefined if an event that ends the answer has been sent. */
  toError(error: ParleyError): string | undefined;
}

/**
 * Sends each part as an event without a name. After an error SDKs look for an `error` member and for the missing
 * `[DONE]`.
 *
 * @returns whether all parts were sent
 */
export function sendEvents<T>(
  exchange: Exchange,
  batches: Batches<T>,
  toJson: (part: T) => string,
): Promise<boolean> {
  return sendNamedEvents(exchange, batches, {
    toEvent: (part) => sseEvent(toJson(part)),
    toError: (error) => sseEvent(JSON.stringify(errorBody(error))),
  });
}

/**
 * Sends each part as an event. The status leaves with the first batch. An error before it is thrown, so that it gets
 * its own status. A later error becomes the last event.
 *
 * @returns whether all parts were sent
 */
export async function sendNamedEvents<T>(
  exchange: Exchange,
  batches: Batches<T>,
  form: EventForm<T>,
): Promise<boolean> {
  let hasBegun = false;
  try {
    for await (const parts of batches) {
      if (!hasBegun) exchange.begin(sseHeaders);
      hasBegun = true;
      let text = parts.length === 0 ? (form.ping ?? waitingComment) : '';
      for (const part of parts) text += form.toEvent(part);
      await exchange.write(text);
    }
    return true;
  } catch (thrown) {
    const error = exchange.served.errorOf(thrown);
    if (!hasBegun || error.code === 'request_cancelled') throw error;
    const last = form.toError(error);
    if (last) await exchange.write(last);
    return false;
  }
}

/**
 * Sends the chunks of a chat or a completion, then `[DONE]`. For a client that asked for `include_usage`, all chunks have the member
 * `usage`: null on all but the last.
 */
export async function sendChunks<T>(
  exchange: Exchange,
  chunks: Batches<T>,
  toJson: (chunk: T, withUsage: boolean) => string,
  options: StreamOptions | undefined,
): Promise<void> {
  const withUsage = options?.includeUsage === true;
  const isWhole = await sendEvents(exchange, chunks, (chunk) => toJson(chunk, withUsage));
  if (isWhole) await exchange.write(sseDone);
}

/** A server-sent event. Without a name, its data identifies it. @param data JSON */
export function sseEvent(data: string, name?: string): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}

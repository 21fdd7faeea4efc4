/** The usual answers of a scripted upstream, good and bad. */
import type { Answer } from './scripted-upstream.ts';

interface AnswerOptions {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Delay before the status. Default 0. */
  readonly afterMs?: number;
}

/** A complete JSON body. */
export function json(body: unknown, options: AnswerOptions = {}): Answer {
  return whole(JSON.stringify(body), {
    ...options,
    headers: { 'content-type': 'application/json', ...options.headers },
  });
}

/** A complete body of any type. */
export function whole(
  body: string | Uint8Array,
  { status = 200, headers, afterMs = 0 }: AnswerOptions = {},
): Answer {
  return async (exchange) => {
    await exchange.pause(afterMs);
    exchange.head(status, headers);
    exchange.end(body);
  };
}

/** An error in the form of the API. Its words must never reach a client. */
export function failure(status: number, headers: Record<string, string> = {}): Answer {
  const error = { message: 'upstream words', type: 'upstream_type', param: null, code: 'upstream_code' };
  return json({ error }, { status, headers });
}

interface PieceOptions extends AnswerOptions {
  /** Delay between two pieces. Default 0: they may arrive together. */
  readonly everyMs?: number;
  /** The event after the last piece. Default: the answer ends. */
  readonly ending?: 'end' | 'reset' | 'stall';
}

/** A body that is sent in these pieces. */
export function pieces(
  parts: readonly (string | Uint8Array)[],
  { status = 200, headers, afterMs = 0, everyMs = 0, ending = 'end' }: PieceOptions = {},
): Answer {
  return async (exchange) => {
    await exchange.pause(afterMs);
    exchange.head(status, headers);
    for (const [index, part] of parts.entries()) {
      if (index > 0 && everyMs > 0) await exchange.pause(everyMs);
      await exchange.write(part);
    }
    if (ending === 'stall') await exchange.forever();
    if (ending === 'reset') await exchange.reset();
    else exchange.end();
  };
}

export const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' };

/** An event stream of these texts, unchanged. */
export function eventText(parts: readonly (string | Uint8Array)[], options: PieceOptions = {}): Answer {
  return pieces(parts, { ...options, headers: { ...eventStream, ...options.headers } });
}

interface EventOptions extends PieceOptions {
  /** Whether `data: [DONE]` is the last event. Default: true. */
  readonly done?: boolean;
}

/** An event stream of these JSON values, one piece each. */
export function events(values: readonly unknown[], { done = true, ...options }: EventOptions = {}): Answer {
  const texts = values.map((value) => `data: ${JSON.stringify(value)}\n\n`);
  return eventText(done ? [...texts, 'data: [DONE]\n\n'] : texts, options);
}

/** A body that ends with a reset after this many bytes. */
export function resetAt(byte: number, body: string | Uint8Array, options: AnswerOptions = {}): Answer {
  return pieces([Buffer.from(body).subarray(0, byte)], { ...options, ending: 'reset' });
}

/** A reset instead of an answer. */
export const resetAtOnce: Answer = (exchange) => exchange.reset();

/** Never answers. */
export const silence: Answer = (exchange) => exchange.forever();

/** Sends the same piece repeatedly until the caller leaves, as fast as it is read. */
export function endless(part: string | Uint8Array, headers: Record<string, string> = {}): Answer {
  return async (exchange) => {
    exchange.head(200, headers);
    for (;;) {
      await exchange.write(part);
      await exchange.pause(0);
    }
  };
}

/** Bytes that need not be HTTP, then silence or a reset. */
export function rawBytes(bytes: string, ending: 'stall' | 'reset' = 'stall'): Answer {
  return async (exchange) => {
    exchange.socket.write(bytes);
    if (ending === 'reset') await exchange.reset();
    else await exchange.forever();
  };
}

export function redirect(location: string): Answer {
  return whole('', { status: 307, headers: { location } });
}

import type { HttpAnswer } from './http-client.ts';
import type { ReadAnswer } from './rest-call.ts';

export interface Events {
  readonly events: readonly unknown[];
  /** What the last event said instead of an end. */
  readonly error: ReadAnswer['error'];
  readonly isDone: boolean;
}

/** The server-sent events of an answer; one that was cut in its middle is left out. */
export function readEvents({ body }: HttpAnswer): Events {
  const blocks = body.toString().split('\n\n').slice(0, -1);
  const data = blocks.map((block) => block.replace(/^data: /, ''));
  const isDone = data.at(-1) === '[DONE]';
  const events = (isDone ? data.slice(0, -1) : data).map((event): unknown => JSON.parse(event));
  const last = events.at(-1) as { readonly error?: ReadAnswer['error'] } | undefined;
  return { events: last?.error ? events.slice(0, -1) : events, error: last?.error, isDone };
}

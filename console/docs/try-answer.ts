/** Sends a request and reports the answer, piece by piece. */
import { createParser } from 'eventsource-parser';
import type { Prepared } from './try-request.ts';

export interface Received {
  readonly status: number;
  readonly statusText: string;
  readonly requestId: string | null;
  readonly contentType: string;
  readonly headersMs: number;
  readonly endMs: number | undefined;
  readonly bytes: number;
  readonly body: ReceivedBody;
}

export type ReceivedBody =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'events'; readonly text: string; readonly events: readonly string[] }
  | { readonly kind: 'audio'; readonly url: string | undefined; readonly isPlayable: boolean };

/** @param onReceived called with the answer so far */
export async function send(
  { method, path, headers, body }: Prepared,
  signal: AbortSignal,
  onReceived: (received: Received) => void,
): Promise<void> {
  const began = performance.now();
  const response = await fetch(path, { method, headers, body: body ?? null, signal });
  const contentType = response.headers.get('content-type') ?? '';
  const head = {
    status: response.status,
    statusText: response.statusText,
    requestId: response.headers.get('x-request-id'),
    contentType,
    headersMs: performance.now() - began,
  };
  const reader = readerOf(contentType);
  const decoder = new TextDecoder();
  let bytes = 0;
  const report = (endMs?: number) =>
    onReceived({ ...head, endMs, bytes, body: reader.body(endMs !== undefined) });
  report();
  for await (const chunk of chunksOf(response)) {
    bytes += chunk.length;
    reader.read(chunk, decoder);
    report();
  }
  report(performance.now() - began);
}

/** Not every browser can iterate over a stream. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body?.getReader();
  for (;;) {
    const { value, done = true } = (await reader?.read()) ?? {};
    if (value !== undefined) yield value;
    if (done) return;
  }
}

interface BodyReader {
  read(chunk: Uint8Array<ArrayBuffer>, decoder: TextDecoder): void;
  body(isWhole: boolean): ReceivedBody;
}

function readerOf(contentType: string): BodyReader {
  if (contentType.startsWith('audio/')) return audioReader(contentType);
  if (contentType.startsWith('text/event-stream')) return eventReader();
  let text = '';
  return {
    read: (chunk, decoder) => {
      text += decoder.decode(chunk, { stream: true });
    },
    body: (isWhole) => ({
      kind: 'text',
      text: isWhole && contentType.includes('json') ? indented(text) : text,
    }),
  };
}

function audioReader(contentType: string): BodyReader {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  // Raw samples have no header, so no player knows their rate.
  const isPlayable = !contentType.startsWith('audio/pcm');
  return {
    read: (chunk) => chunks.push(chunk),
    body: (isWhole) => {
      const url = isWhole ? URL.createObjectURL(new Blob(chunks, { type: contentType })) : undefined;
      return { kind: 'audio', url, isPlayable };
    },
  };
}

function eventReader(): BodyReader {
  const events: string[] = [];
  let text = '';
  const parser = createParser({
    onEvent: ({ data }) => {
      events.push(data);
      text += textOf(data);
    },
  });
  return {
    read: (chunk, decoder) => parser.feed(decoder.decode(chunk, { stream: true })),
    body: () => ({ kind: 'events', text, events: [...events] }),
  };
}

interface EventData {
  readonly choices?: readonly { readonly text?: string; readonly delta?: { readonly content?: string } }[];
  readonly delta?: string;
}

/** The text that an event adds, for chats and transcripts. */
function textOf(data: string): string {
  if (data === '[DONE]') return '';
  const { choices = [], delta } = JSON.parse(data) as EventData;
  if (typeof delta === 'string') return delta;
  return choices.map((choice) => choice.delta?.content ?? choice.text ?? '').join('');
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

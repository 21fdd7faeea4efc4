import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ChatChunk } from '../../core/chat/answer.ts';
import type { ChatEngine } from '../../core/ports/engines.ts';
import { readAnswer, readChunk, toUpstreamParams } from './chat-json.ts';
import { upstreamSaid } from './failures.ts';
import { type SseEvent, SseReader } from './sse.ts';
import type { Upstream } from './upstream.ts';
import type { UpstreamAnswer } from './upstream-answer.ts';

const path = '/chat/completions';
const doneMark = '[DONE]';

/** @param model the upstream's name of the model */
export function createOpenAiChat(upstream: Upstream, model: string): ChatEngine {
  const post = (params: ChatCompletionParams, stream: boolean, signal: AbortSignal) =>
    upstream.call({
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        accept: stream ? 'text/event-stream' : 'application/json',
      },
      body: toUpstreamParams(params, { model, stream }),
      signal,
    });
  return {
    // One that cannot be reached now answers with `upstream_error`: it stays in the catalog.
    availability: () => ({ available: true }),
    complete: async (params, signal) => readAnswer(await (await post(params, false, signal)).json()),
    stream: (params, signal) => chunksOf(() => post(params, true, signal)),
  };
}

/**
 * The chunks of a stream, until its end or `[DONE]`, whichever is first; whether the answer is whole its finish reasons
 * tell. An upstream that answers in plain JSON has not done what it was asked: nothing of it would be a stream.
 */
async function* chunksOf(ask: () => Promise<UpstreamAnswer>): AsyncGenerator<readonly ChatChunk[]> {
  const answer = await ask();
  const { body, contentType } = answer;
  if (contentType !== 'text/event-stream') {
    throw answer.refuse(`the answer is ${contentType || 'of no type'}, not a stream of events`);
  }
  const reader = new SseReader();
  for await (const piece of body) {
    const { chunks, isDone, failure } = readChunks(reader.read(piece));
    if (isDone) body.release();
    if (chunks.length > 0) yield chunks;
    if (failure) throw failure.reason;
    if (isDone) return;
  }
  const { chunks, failure } = readChunks(reader.end());
  if (chunks.length > 0) yield chunks;
  if (failure) throw failure.reason;
}

interface ReadChunks {
  readonly chunks: readonly ChatChunk[];
  readonly isDone?: boolean;
  readonly failure?: { readonly reason: unknown };
}

/** Reads events until `[DONE]` or to one that is no chunk; those before it still reach the client. */
function readChunks(events: readonly SseEvent[]): ReadChunks {
  const chunks: ChatChunk[] = [];
  for (const event of events) {
    if (event.data === doneMark) return { chunks, isDone: true };
    try {
      chunks.push(toChunk(event));
    } catch (reason) {
      return { chunks, failure: { reason } };
    }
  }
  return { chunks };
}

function toChunk({ name, data }: SseEvent): ChatChunk {
  if (name === 'error') throw upstreamSaid(data);
  return readChunk(data);
}

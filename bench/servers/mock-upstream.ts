/**
 * A chat model that answers at once: plain, or as a stream with ten events in each piece. `bench` in the request sets the
 * number of pieces and the pause between them.
 */
import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveHttp } from './parent.ts';

interface Asked {
  readonly stream?: boolean;
  readonly bench?: { readonly pieces?: number; readonly everyMs?: number };
}

const usage = { prompt_tokens: 20, completion_tokens: 100, total_tokens: 120 };
const head = {
  id: 'chatcmpl-bench',
  created: 1_700_000_000,
  model: 'mock-model',
  system_fingerprint: 'fp_bench',
};
const message = { role: 'assistant', content: 'word '.repeat(100) };
const completion = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
  usage,
});

const event = (choices: unknown[], more: object = { usage: null }) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
const choice = (delta: object, finish_reason: string | null = null) => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason,
});
const ten = Buffer.from(event([choice({ content: 'word ' })]).repeat(10));
const first = Buffer.from(event([choice({ role: 'assistant', content: '' })]));
const last = Buffer.from(`${event([choice({}, 'stop')])}${event([], { usage })}data: [DONE]\n\n`);

async function stream(response: ServerResponse, { pieces = 10, everyMs = 0 }: Asked['bench'] = {}) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of [first, ...Array<Buffer>(pieces).fill(ten), last]) {
    response.write(piece);
    // The pause makes each piece arrive separately.
    await (everyMs > 0 ? sleep(everyMs) : new Promise(setImmediate));
  }
  response.end();
}

const server = createServer(async (request, response) => {
  // A peer may look for more than chat.
  if (request.method !== 'POST') return response.writeHead(404).end();
  const asked = (await json(request)) as Asked;
  if (asked.stream) return stream(response, asked.bench);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': completion.length });
  response.end(completion);
});
serveHttp(server);

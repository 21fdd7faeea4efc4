/**
 * The floor of chat: relays to an upstream with undici, and parses and serialises each message to change the model's name.
 * Streams go through eventsource-parser, with one write for each piece that arrives.
 *
 *   node bench/servers/bare-relay.ts ORIGIN-OF-THE-UPSTREAM [durable]
 *
 * With `durable` it writes a record to the disk before each plain answer.
 */
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { type Dispatcher, Pool } from 'undici';
import { durableWriter } from './durable-write.ts';
import { serveHttp } from './parent.ts';

const [, , upstream = ''] = process.argv;
const pool = new Pool(upstream, { connections: 4_096 });
const record = durableWriter();
const headers = { authorization: 'Bearer none', 'content-type': 'application/json' };

async function relayPlain(answer: Dispatcher.ResponseData, response: ServerResponse): Promise<void> {
  const json = JSON.parse(await answer.body.text());
  json.model = 'bench';
  const body = Buffer.from(JSON.stringify(json));
  if (record) await record();
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

async function relayStream(answer: Dispatcher.ResponseData, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let batch = '';
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') {
        batch += 'data: [DONE]\n\n';
        return;
      }
      const json = JSON.parse(data);
      json.model = 'bench';
      batch += `data: ${JSON.stringify(json)}\n\n`;
    },
  });
  const decoder = new TextDecoder();
  for await (const piece of answer.body) {
    batch = '';
    parser.feed(decoder.decode(piece, { stream: true }));
    response.write(batch);
  }
  response.end();
}

const server = createServer(async (request, response) => {
  const asked = JSON.parse(await text(request));
  asked.model = 'mock-model';
  const body = JSON.stringify(asked);
  const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body });
  await (asked.stream ? relayStream : relayPlain)(answer, response);
});
serveHttp(server);

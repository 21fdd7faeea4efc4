/**
 * The smallest server of the OpenAI API, as a program for tests of supervision:
 *
 *   node tiny-server.mjs SOCKET|PORT [OPTION=VALUE...]
 *
 * Options: loadMs (time until it is ready), megabytes (memory to take), everyMs (time between tokens, 10 by default), gate (a
 * file: a stream stops after its first token until there is one), trick: `exit` (ends with status 3 before it listens),
 * `stubborn` (ignores SIGTERM), `crash` (ends at the first chat). The user `mirror` gets the request itself as the answer.
 */
import { existsSync } from 'node:fs';
import http from 'node:http';

const [at = '', ...settings] = process.argv.slice(2);
const options = Object.fromEntries(settings.map((setting) => setting.split('=')));
const { loadMs = 0, megabytes = 0, everyMs = 10, gate, trick } = options;

if (trick === 'exit') {
  process.stderr.write('error: the weights are missing\n');
  process.exit(3);
}
if (trick === 'stubborn') process.on('SIGTERM', () => undefined);
const ballast = Buffer.alloc(Number(megabytes) * 1_000_000, 1);
let isReady = false;
setTimeout(() => {
  isReady = true;
}, Number(loadMs));

const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'tiny' };
const pause = () => new Promise((resolve) => setTimeout(resolve, Number(everyMs)));
/** @param {object} value */
const data = (value) => `data: ${JSON.stringify(value)}\n\n`;

/** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
async function chat(request, response) {
  const body = Buffer.concat(await request.toArray()).toString();
  const { stream, max_tokens: limit = 5, user } = JSON.parse(body);
  if (trick === 'crash') {
    process.stderr.write('fatal: a secret of the prompt\n');
    process.kill(process.pid, 'SIGSEGV');
    return;
  }
  const count = Math.min(limit, 1_000);
  const usage = { prompt_tokens: 7, completion_tokens: count, total_tokens: 7 + count };
  if (!stream) {
    const message = { role: 'assistant', content: user === 'mirror' ? body : 'hi '.repeat(count) };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    return;
  }
  /** @param {object} delta @param {string | null} finish_reason */
  const chunk = (delta, finish_reason = null, more = {}) =>
    data({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
      ...more,
    });
  response.setHeader('content-type', 'text/event-stream');
  for (let sent = 0; sent < count && !response.destroyed; sent++) {
    response.write(chunk({ content: 'hi ' }));
    do await pause();
    while (gate && !existsSync(gate) && !response.destroyed);
  }
  response.end(`${chunk({}, 'stop', { usage })}data: [DONE]\n\n`);
}

const server = http.createServer(async (request, response) => {
  if (request.url === '/health') response.writeHead(isReady ? 200 : 503).end();
  else if (request.url === '/v1/chat/completions') await chat(request, response);
  else
    response
      .writeHead(404)
      .end(JSON.stringify({ error: { message: `no ${request.url}`, bytes: ballast.length } }));
});
if (at.includes('/')) server.listen(at);
else server.listen(Number(at), '127.0.0.1');

/**
 * The floor of `GET /models`: answers every request with the same bytes.
 *
 *   node bench/servers/bare-http.ts BODY [durable]
 *
 * With `durable` it writes a record to the disk before each answer.
 */
import { createServer } from 'node:http';
import { durableWriter } from './durable-write.ts';
import { serveHttp } from './parent.ts';

const body = Buffer.from(process.argv[2] ?? '');
const headers = { 'content-type': 'application/json', 'content-length': body.length };
const record = durableWriter();
serveHttp(
  createServer(async (_, response) => {
    if (record) await record();
    response.writeHead(200, headers).end(body);
  }),
);

/**
 * The floor of `GET /models`: answers every request with the same bytes.
 *
 *   node bench/servers/bare-http.ts BODY
 */
import { createServer } from 'node:http';
import { serveHttp } from './parent.ts';

const body = Buffer.from(process.argv[2] ?? '');
const headers = { 'content-type': 'application/json', 'content-length': body.length };
serveHttp(createServer((_, response) => response.writeHead(200, headers).end(body)));

/** Answers malformed, slow and oversized HTTP/1 requests, in the shape of every other error. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Status = 400 | 408 | 431;

const reasons: Readonly<Record<Status, readonly [reason: string, message: string]>> = {
  400: ['Bad Request', 'The request is not valid HTTP. Check the request line and the headers.'],
  408: [
    'Request Timeout',
    'The request did not come in time. Send its headers and its body without a pause.',
  ],
  431: ['Request Header Fields Too Large', 'The request has too many headers, or too large ones. Send less.'],
};

/** Answers requests that the HTTP/1 parser refuses or that do not come in time. */
export function refuseBadRequests(server: Server): void {
  const answers = new WeakMap<Socket, Set<ServerResponse>>();
  const note = ({ socket }: IncomingMessage, response: ServerResponse) => {
    const open = answers.get(socket) ?? new Set();
    answers.set(socket, open.add(response));
    response.once('close', () => open.delete(response));
  };
  server.prependListener('request', note);
  server.prependListener('checkContinue', note);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Another answer cannot be sent in the middle of one.
    const isAnswering = [...(answers.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) socket.destroy();
    else refuse(socket, statusOf(error));
  });
}

/** Answers a request with too many headers. Node would serve it without some of them. */
export function refuseHeaders(response: ServerResponse): void {
  const body = bodyOf(431);
  response.writeHead(431, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
}

function statusOf({ code }: NodeJS.ErrnoException): Status {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}

function refuse(socket: Socket, status: Status): void {
  const body = bodyOf(status);
  const head = [
    `HTTP/1.1 ${status} ${reasons[status][0]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function bodyOf(status: Status): string {
  const code = 'invalid_request_error';
  return JSON.stringify({ error: { message: reasons[status][1], type: code, param: null, code } });
}

/** Unanswered requests of each HTTP/1 connection. A client may send requests before earlier ones are answered. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const owed = new WeakMap<object, Set<ServerResponse>>();

/** Call it before the server gets listeners of its own. */
export function noteAnswers(server: Server): void {
  const note = ({ socket }: IncomingMessage, response: ServerResponse) => {
    const answers = owed.get(socket) ?? new Set();
    owed.set(socket, answers.add(response));
    response.on('close', () => answers.delete(response));
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.prependListener(event, note);
}

/** Ends requests without an answer as if their client had left, and leaves the connection open. */
export function abandonAnswers(socket: Socket): void {
  for (const response of answersOf(socket)) {
    if (response.socket) response.detachSocket(socket);
    response.destroyed = true;
    response.emit('close');
  }
}

/** Whether a part of an answer has been sent. */
export function isAnswering(socket: Socket): boolean {
  return answersOf(socket).some(({ headersSent, writableEnded }) => headersSent && !writableEnded);
}

/**
 * How many requests of a connection have no complete answer yet. Undefined before its first request, and for HTTP/2.
 */
export function unanswered(carrier: object): number | undefined {
  return owed.get(carrier)?.size;
}

/** Calls back once every complete request, and every one that has its answer already, is answered. */
export function afterAnswers(socket: Socket, run: () => void): void {
  const earlier = answersOf(socket).findLast(({ req, writableEnded }) => req.complete || writableEnded);
  if (earlier === undefined) run();
  else earlier.once('close', () => afterAnswers(socket, run));
}

function answersOf(socket: Socket): readonly ServerResponse[] {
  return [...(owed.get(socket) ?? [])];
}

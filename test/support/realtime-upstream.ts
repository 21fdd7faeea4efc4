/** An upstream with OpenAI's Realtime protocol for transcription, which breaks it on command. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
type ClientEvent = any;

const transcription = 'conversation.item.input_audio_transcription';

/** A connection of the server under test. */
export class RealtimeConnection {
  readonly socket: WebSocket;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly events: ClientEvent[] = [];
  /** Bytes of audio since the last commit, and those of each committed turn. */
  bytes = 0;
  readonly turns: number[] = [];
  isClosed = false;

  constructor(socket: WebSocket, { headers, url = '' }: IncomingMessage) {
    this.socket = socket;
    this.headers = headers;
    this.path = url;
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.isClosed = true;
    });
  }

  send(type: string, members: object = {}): void {
    this.socket.send(JSON.stringify({ type, event_id: 'event_of_upstream', ...members }));
  }

  delta(item: string, delta: string): void {
    this.send(`${transcription}.delta`, { item_id: item, content_index: 0, delta });
  }

  complete(item: string, transcript: string): void {
    const usage = { type: 'duration', seconds: 1 };
    this.send(`${transcription}.completed`, { item_id: item, content_index: 0, transcript, usage });
  }

  fail(item: string, error: object): void {
    this.send(`${transcription}.failed`, { item_id: item, content_index: 0, error });
  }

  /** Does as OpenAI's server does; the text of a turn is its number of bytes. */
  answer(event: ClientEvent): void {
    if (event.type === 'session.update') this.send('session.updated', { session: event.session });
    if (event.type === 'input_audio_buffer.append') this.bytes += Buffer.from(event.audio, 'base64').length;
    if (event.type === 'input_audio_buffer.clear') {
      this.bytes = 0;
      this.send('input_audio_buffer.cleared');
    }
    if (event.type !== 'input_audio_buffer.commit') return;
    this.turns.push(this.bytes);
    const item = `item_of_upstream_${this.turns.length}`;
    this.send('input_audio_buffer.committed', { item_id: item });
    this.delta(item, `${this.bytes} `);
    this.delta(item, 'bytes');
    this.complete(item, `${this.bytes} bytes`);
    this.bytes = 0;
  }
}

export class RealtimeUpstream {
  readonly connections: RealtimeConnection[] = [];
  readonly #server = createServer((_, response) => response.writeHead(404).end());
  readonly #sockets = new Set<Socket>();
  /** Replaces the WebSocket's answer: the bytes of an HTTP answer, or undefined to never answer. */
  refusal: { readonly answer: string | undefined } | undefined;
  onOpen: (connection: RealtimeConnection) => void = (connection) => connection.send('session.created');
  onEvent: (connection: RealtimeConnection, event: ClientEvent) => void = (connection, event) =>
    connection.answer(event);

  async start(): Promise<string> {
    const webSockets = new WebSocketServer({ noServer: true });
    this.#server.on('connection', (socket) => this.#sockets.add(socket));
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined);
      if (this.refusal) {
        if (this.refusal.answer !== undefined) socket.end(this.refusal.answer);
        return;
      }
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        const connection = new RealtimeConnection(webSocket, request);
        this.connections.push(connection);
        webSocket.on('message', (data) => {
          const event = JSON.parse(String(data));
          connection.events.push(event);
          this.onEvent(connection, event);
        });
        this.onOpen(connection);
      });
    });
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  reset(): void {
    this.refusal = undefined;
    this.onOpen = (connection) => connection.send('session.created');
    this.onEvent = (connection, event) => connection.answer(event);
    for (const { socket } of this.connections.splice(0)) socket.terminate();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function httpAnswer(status: number, body: object, headers: Record<string, string> = {}): string {
  const text = JSON.stringify(body);
  const all = { 'content-type': 'application/json', 'content-length': String(text.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${text}`;
}

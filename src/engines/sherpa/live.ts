/** OpenAI's Realtime protocol for transcription, as far as Parley's own client speaks it: the client commits its turns. */
import type { Server } from 'node:http';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { isObject } from '../../core/values/json.ts';
import type { Hearing, OpenHearing } from './hearing.ts';

const livePath = '/v1/realtime';

/** The rate of PCM in the protocol. */
const sampleRate = 24_000;
/** A message has at most a second of audio. */
const messageBytesMax = 262_144;
const transcription = 'conversation.item.input_audio_transcription';

/** Serves live speech on a server's socket. */
export function serveLive(server: Server, open: OpenHearing): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request, connection, head) => {
    if (!request.url?.startsWith(`${livePath}?`)) return void connection.destroy();
    sockets.handleUpgrade(request, connection, head, (socket) => {
      listen(socket, open).catch((error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
        socket.terminate();
      });
    });
  });
}

/** Reads no further message before one has been heard, so that a client faster than the model is slowed down. */
async function listen(socket: WebSocket, open: OpenHearing): Promise<void> {
  const messages = createWebSocketStream(socket, { readableObjectMode: true });
  const turns = new Turns(open, (event) => socket.send(JSON.stringify(event)));
  socket.send(JSON.stringify({ type: 'session.created' }));
  for await (const message of messages) {
    const event: unknown = JSON.parse(String(message));
    if (isObject(event)) await turns.handle(event);
  }
}

class Turns {
  readonly #open: OpenHearing;
  readonly #send: (event: object) => void;
  #hearing: Hearing | undefined;
  #number = 0;
  #sent = '';

  constructor(open: OpenHearing, send: (event: object) => void) {
    this.#open = open;
    this.#send = send;
  }

  async handle(event: { readonly [member: string]: unknown }): Promise<void> {
    switch (event['type']) {
      case 'session.update':
        return this.#send({ type: 'session.updated' });
      case 'input_audio_buffer.append':
        return this.#add(String(event['audio']));
      case 'input_audio_buffer.clear':
        this.#next();
        return this.#send({ type: 'input_audio_buffer.cleared' });
      case 'input_audio_buffer.commit':
        return this.#commit();
    }
  }

  async #add(audio: string): Promise<void> {
    this.#hearing ??= this.#open();
    await this.#hearing.add(samplesOf(audio), sampleRate);
    const { text } = this.#hearing;
    // A text that was changed is sent when the turn has ended.
    if (text === this.#sent || !text.startsWith(this.#sent)) return;
    this.#report('delta', { delta: text.slice(this.#sent.length) });
    this.#sent = text;
  }

  async #commit(): Promise<void> {
    this.#send({ type: 'input_audio_buffer.committed', item_id: this.#item });
    const result = await this.#hearing?.finish(sampleRate);
    this.#report('completed', { transcript: result?.text ?? '' });
    this.#next();
  }

  get #item(): string {
    return `turn_${this.#number}`;
  }

  #report(kind: 'delta' | 'completed', members: object): void {
    this.#send({ type: `${transcription}.${kind}`, item_id: this.#item, ...members });
  }

  #next(): void {
    this.#hearing = undefined;
    this.#sent = '';
    this.#number++;
  }
}

/** @param audio PCM of 16 bits, little-endian, in base64 */
function samplesOf(audio: string): Float32Array {
  const bytes = Buffer.from(audio, 'base64');
  return Float32Array.from({ length: bytes.length >> 1 }, (_, at) => bytes.readInt16LE(2 * at) / 32_768);
}

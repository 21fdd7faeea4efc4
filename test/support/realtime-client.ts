/** A client of OpenAI's Realtime protocol: it sends when a test says so, and keeps what it receives. */
import { WebSocket } from 'ws';
import { until } from './command-line.ts';
import type { Parley } from './parley.ts';

export interface ServerEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The rate of PCM in the protocol. */
export const realtimeRate = 24_000;

interface ClientOptions {
  readonly query?: string;
  /** Default: the key of the server. */
  readonly headers?: Record<string, string>;
  readonly protocols?: string[];
}

export class RealtimeClient {
  readonly events: ServerEvent[] = [];
  readonly socket: WebSocket;
  readonly closed: Promise<readonly [code: number, reason: string]>;

  constructor(
    { baseUrl, apiKey }: Pick<Parley, 'baseUrl' | 'apiKey'>,
    { query = 'intent=transcription', headers, protocols = [] }: ClientOptions = {},
  ) {
    const url = `${baseUrl.replace('http', 'ws')}/realtime?${query}`;
    this.socket = new WebSocket(url, protocols, {
      headers: headers ?? { authorization: `Bearer ${apiKey}` },
    });
    this.socket.on('message', (data) => this.events.push(JSON.parse(String(data))));
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code, reason) => resolve([code, String(reason)]));
    });
  }

  send(event: object): void {
    this.socket.send(JSON.stringify(event));
  }

  /** Sends silence, which only clients that commit can have transcribed. */
  speak(seconds: number): void {
    for (let part = 0; part < seconds * 10; part++) {
      this.append(new Int16Array(realtimeRate / 10));
    }
  }

  append({ buffer, byteOffset, byteLength }: Int16Array): void {
    const audio = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    this.send({ type: 'input_audio_buffer.append', audio });
  }

  all(type: string): readonly ServerEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  async next(type: string, count = 1): Promise<ServerEvent> {
    await until(() => this.all(type).length >= count);
    return this.all(type)[count - 1] as ServerEvent;
  }

  async configure(session: object): Promise<ServerEvent> {
    await this.next('session.created');
    this.send({ type: 'session.update', session });
    return this.next('session.updated');
  }
}

/**
 * Requests on connections that the server has accepted before the first request is sent. A burst of new connections
 * exceeds the queue of a listening socket, and would test the system instead of the program.
 */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Connections opened at once: well below that queue of 511. */
const batch = 100;

export interface PlainAnswer {
  readonly status: number;
  readonly body: string;
}

export class ConnectedClient {
  readonly #baseUrl: string;
  readonly #connections: Agent[] = [];
  #used = 0;

  private constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** The server's keep-alive time must exceed the time of this. */
  static async open(baseUrl: string, count: number): Promise<ConnectedClient> {
    const client = new ConnectedClient(baseUrl);
    while (client.#connections.length < count) {
      const more = Math.min(batch, count - client.#connections.length);
      await Promise.all(Array.from({ length: more }, () => client.#connect()));
    }
    return client;
  }

  /** Posts JSON on a separate connection, again while the server is overloaded. */
  async postJson(path: string, body: unknown, key: string): Promise<PlainAnswer> {
    const connection = this.#connections[this.#used++];
    if (connection === undefined) throw new Error('every connection is used');
    for (;;) {
      const answer = await this.#send(connection, path, { key, body: JSON.stringify(body) });
      if (answer.status !== 503) return answer;
      await sleep(500);
    }
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** An unknown path costs only the answer. */
  async #connect(): Promise<void> {
    const connection = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#connections.push(connection);
    await this.#send(connection, '/nothing', { key: '', body: '' });
  }

  #send(agent: Agent, path: string, { key, body }: { key: string; body: string }): Promise<PlainAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<PlainAnswer>();
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(this.#baseUrl + path, { method: 'POST', agent, headers });
    sent.on('response', (response) => {
      text(response).then((content) => resolve({ status: response.statusCode ?? 0, body: content }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }
}

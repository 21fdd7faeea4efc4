/**
 * Requests on connections that the server has taken up before the first of them is sent. A burst of new connections is
 * more than a listening socket queues, and says more of the system than of the program.
 */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** Connections opened at once: well under that queue, which is 511 long. */
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

  /** The server's keep-alive time has to exceed what this takes. */
  static async open(baseUrl: string, count: number): Promise<ConnectedClient> {
    const client = new ConnectedClient(baseUrl);
    while (client.#connections.length < count) {
      const more = Math.min(batch, count - client.#connections.length);
      await Promise.all(Array.from({ length: more }, () => client.#connect()));
    }
    return client;
  }

  /** Posts JSON on a connection of its own. */
  postJson(path: string, body: unknown, key: string): Promise<PlainAnswer> {
    const connection = this.#connections[this.#used++];
    if (connection === undefined) throw new Error('every connection is used');
    return this.#send(connection, path, { key, body: JSON.stringify(body) });
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** A path that there is not costs nothing but the answer. */
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

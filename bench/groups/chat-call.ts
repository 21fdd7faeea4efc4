/** Chat over REST, as clients of Parley and of the servers beside it send it. */
import { Pool } from 'undici';
import type { Served } from '../servers/child.ts';

const messages = [
  { role: 'system', content: 'You are a helpful assistant. '.repeat(10) },
  { role: 'user', content: 'Say one hundred words.' },
];

/** A server that answers chat, and how it wants to be asked. */
export interface ChatServer extends Served {
  readonly path: string;
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a stream of the model behind them is like: so many pieces of ten events, and the pause between them. */
export interface StreamShape {
  readonly pieces: number;
  readonly everyMs?: number;
}

/** The first event and the last two carry no words. */
export const eventsOf = ({ pieces }: StreamShape) => pieces * 10 + 3;

export interface ChatClient {
  /** Rejects unless the answer is whole. */
  call(): Promise<void>;
  close(): Promise<void>;
}

export function openChatClient(server: ChatServer, connections: number, stream?: StreamShape): ChatClient {
  const pool = new Pool(server.origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
  const { path, model } = server;
  const headers = {
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
    ...server.headers,
  };
  const more = stream && { stream: true, bench: stream };
  const body = JSON.stringify({ model, messages, temperature: 0.5, max_tokens: 200, ...more });
  const request = { method: 'POST', path, headers, body } as const;
  return {
    async call() {
      const answer = await pool.request(request);
      let last: Buffer = Buffer.alloc(0);
      let bytes = 0;
      for await (const piece of answer.body as AsyncIterable<Buffer>) {
        last = piece;
        bytes += piece.length;
      }
      const ending = last.subarray(-64).toString();
      // Peers put empty lines behind the end.
      const isWhole = stream ? /data: \[DONE\]\s*$/.test(ending) : ending.endsWith('}');
      if (answer.statusCode !== 200 || !isWhole || bytes < 500) {
        throw new Error(`${server.origin} answered ${answer.statusCode} ${ending}`);
      }
    },
    close: () => pool.close(),
  };
}

/** Asks once, and throws unless what the model behind the server has said has all come through. */
export async function checkChat(server: ChatServer, stream?: StreamShape): Promise<void> {
  const more = stream && { stream: true, bench: stream };
  const answer = await fetch(server.origin + server.path, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json', ...server.headers },
    body: JSON.stringify({ model: server.model, messages, ...more }),
  });
  const text = await answer.text();
  const words = text.match(/word /g)?.length;
  const expected = stream ? stream.pieces * 10 : 100;
  if (!answer.ok || words !== expected) {
    throw new Error(`${server.origin} answered ${answer.status} with ${words} words of ${expected}`);
  }
}

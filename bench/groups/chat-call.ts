/** Chat over REST, for Parley and the servers that it is compared with. */
import { Pool } from 'undici';
import type { Client, Contender } from '../harness/levels.ts';
import type { Served } from '../servers/child.ts';

const messages = [
  { role: 'system', content: 'You are a helpful assistant. '.repeat(10) },
  { role: 'user', content: 'Say one hundred words.' },
];

export interface ChatServer extends Served {
  readonly path: string;
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The stream that the model sends: pieces of ten events each. */
export interface StreamShape {
  readonly pieces: number;
  /** Pause between pieces. Default: 0. */
  readonly everyMs?: number;
}

/** The first event and the last two carry no words. */
export const eventsOf = ({ pieces }: StreamShape) => pieces * 10 + 3;

function requestTo({ path, model, key, headers }: ChatServer, stream: StreamShape | undefined) {
  const more = stream && { stream: true, bench: stream };
  return {
    method: 'POST',
    path,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages, temperature: 0.5, max_tokens: 200, ...more }),
  } as const;
}

export function openChatClient(server: ChatServer, connections: number, stream?: StreamShape): Client {
  const pool = new Pool(server.origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
  const request = requestTo(server, stream);
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
      // Portkey sends empty lines after the end.
      const isComplete = stream ? /data: \[DONE\]\s*$/.test(ending) : ending.endsWith('}');
      if (answer.statusCode !== 200 || !isComplete || bytes < 500) {
        throw new Error(`${server.origin} answered ${answer.statusCode} ${ending}`);
      }
    },
    close: () => pool.close(),
  };
}

export function chatContender(server: ChatServer, warmUpCalls: number, stream?: StreamShape): Contender {
  return { server, warmUpCalls, open: (connections) => openChatClient(server, connections, stream) };
}

/** Throws unless every word of the model arrives. */
export async function checkChat(server: ChatServer, stream?: StreamShape): Promise<void> {
  const answer = await fetch(server.origin + server.path, requestTo(server, stream));
  const words = (await answer.text()).match(/word /g)?.length;
  const expected = stream ? stream.pieces * 10 : 100;
  if (!answer.ok || words !== expected) {
    throw new Error(`${server.origin} answered ${answer.status} with ${words} words of ${expected}`);
  }
}

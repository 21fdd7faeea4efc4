/** Chat over REST, for Parley and the servers that it is compared with. */
import type { LoadRequest } from '../harness/h2load.ts';
import { type Contender, h2loadContender } from '../harness/levels.ts';
import type { Served } from '../servers/child.ts';

const messages = [
  { role: 'system', content: 'You are a helpful assistant. '.repeat(10) },
  { role: 'user', content: 'Say one hundred words.' },
];

export interface ChatServer extends Served {
  readonly path: string;
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Leaves its errors out, and checks nothing else under load. */
  readonly mayFail?: boolean;
}

/** The stream that the model sends: pieces of ten events each. */
export interface StreamShape {
  readonly pieces: number;
  /** Pause between pieces. Default: 0. */
  readonly everyMs?: number;
}

/** The first event and the last two carry no words. */
export const eventsOf = ({ pieces }: StreamShape) => pieces * 10 + 3;

/**
 * Sends one request.
 * @returns the request, for h2load. Throws unless every word of the model arrives.
 */
export async function chatRequest(server: ChatServer, stream?: StreamShape): Promise<LoadRequest> {
  const { path, model, key } = server;
  const more = stream && { stream: true, bench: stream };
  const request = {
    url: server.origin + path,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...server.headers },
    body: JSON.stringify({ model, messages, temperature: 0.5, max_tokens: 200, ...more }),
  };
  const answer = await fetch(request.url, { method: 'POST', ...request });
  const text = await answer.text();
  const words = text.match(/word /g)?.length;
  const expected = stream ? stream.pieces * 10 : 100;
  const isWhole = stream === undefined || text.trimEnd().endsWith('data: [DONE]');
  if (!answer.ok || words !== expected || !isWhole) {
    throw new Error(`${server.origin} answered ${answer.status} with ${words} words of ${expected}`);
  }
  return { ...request, answerBytes: server.mayFail ? undefined : Buffer.byteLength(text) };
}

export async function chatContender(
  server: ChatServer,
  warmUpCalls: number,
  stream?: StreamShape,
): Promise<Contender> {
  return h2loadContender(server, warmUpCalls, await chatRequest(server, stream));
}

/** Parley and its yardsticks, each before the same model, each in a process of its own. */
import { clientCore, onClientCore, serverCore } from '../harness/cores.ts';
import { startChild } from '../servers/child.ts';
import { startMockUpstream, type Upstream } from '../servers/mock-upstream.ts';
import type { ChatServer } from './chat-call.ts';

export type StartServer = (upstream: Upstream) => Promise<ChatServer>;

/** Starts the model and the servers, runs `work` on the clients' core, and stops them all. */
export async function withChatServers<All extends Readonly<Record<string, StartServer>>, T>(
  starts: All,
  work: (servers: { readonly [Name in keyof All]: ChatServer }) => Promise<T>,
  upstreamPort?: number,
): Promise<T> {
  const upstream = await startMockUpstream(clientCore, upstreamPort);
  const running: { stop(): Promise<void> }[] = [upstream];
  try {
    const servers: Record<string, ChatServer> = {};
    for (const [name, start] of Object.entries(starts)) {
      const server = await start(upstream);
      servers[name] = server;
      running.push(server);
    }
    return await onClientCore(() => work(servers as { readonly [Name in keyof All]: ChatServer }));
  } finally {
    await Promise.all(running.map((server) => server.stop()));
  }
}

const asParley = { path: '/api/v1/chat/completions', model: 'bench', headers: {} };

/**
 * @param env is added to its environment
 * @param more settings
 */
export const startParleyWith =
  (env: Readonly<Record<string, string>>, more: object = {}): StartServer =>
  async ({ origin }) => {
    const mock = {
      kind: 'openai',
      baseUrl: `${origin}/v1`,
      callsMax: 4_096,
      models: { bench: 'mock-model' },
    };
    const model = {
      id: 'bench',
      type: 'chat',
      contextTokens: 4096,
      engine: 'mock',
      price: { input: 1, output: 1 },
    };
    const settings = JSON.stringify({ engines: { mock }, models: [model], ...more });
    return { ...(await startChild('parley', [settings], serverCore, env)), ...asParley };
  };

export const startParley = startParleyWith({});

const startRelay =
  (...more: string[]): StartServer =>
  async ({ origin }) => ({ ...(await startChild('bare-relay', [origin, ...more], serverCore)), ...asParley });

export const startBareRelay = startRelay();
/** Writes a record to the disk before each plain answer. */
export const startDurableRelay = startRelay('durable');

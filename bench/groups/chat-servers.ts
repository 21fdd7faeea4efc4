/** Parley and those that it is measured beside, each in front of the same model, in a process and on a core of its own. */
import { clientCore, onClientCore, serverCore } from '../harness/cores.ts';
import type { Setting } from '../harness/group.ts';
import { type Served, startChild } from '../servers/child.ts';
import { installPortkey, startPortkey } from '../servers/portkey.ts';
import type { ChatServer } from './chat-call.ts';

export interface ChatServers {
  readonly upstream: Served;
  readonly parley: ChatServer;
  readonly relay: ChatServer;
  /** Undefined where it could not be had; `notes` say why. */
  readonly portkey: ChatServer | undefined;
  readonly notes: readonly string[];
}

/** Starts all, runs `work` with the clients on their core, and stops all. */
export async function withChatServers<T>(
  setting: Setting,
  work: (servers: ChatServers) => Promise<T>,
): Promise<T> {
  const upstream = await startChild('mock-upstream', [], clientCore);
  const running: Served[] = [upstream];
  try {
    const [parley, relay] = await Promise.all([startParleyRelay(upstream), startBareRelay(upstream)]);
    running.push(parley, relay);
    const { portkey, notes } = await startPeer(setting, upstream);
    if (portkey) running.push(portkey);
    return await onClientCore(() => work({ upstream, parley, relay, portkey, notes }));
  } finally {
    await Promise.all(running.map((server) => server.stop()));
  }
}

/** Starts one of those in front of a model, runs `work` with the clients on their core, and stops both. */
export async function withServer<T>(
  start: (upstream: Served) => Promise<ChatServer>,
  work: (server: ChatServer) => Promise<T>,
): Promise<T> {
  const upstream = await startChild('mock-upstream', [], clientCore);
  const running = [upstream];
  try {
    const server = await start(upstream);
    running.push(server);
    return await onClientCore(() => work(server));
  } finally {
    await Promise.all(running.map(({ stop }) => stop()));
  }
}

const asParley = { path: '/api/v1/chat/completions', model: 'bench', headers: {} };

export async function startParleyRelay({ origin }: Served): Promise<ChatServer> {
  return { ...(await startChild('parley-relay', [origin], serverCore)), ...asParley };
}

export async function startBareRelay({ origin }: Served): Promise<ChatServer> {
  return { ...(await startChild('bare-relay', [origin], serverCore)), ...asParley };
}

async function startPeer(
  { short, cacheDir, say }: Setting,
  upstream: Served,
): Promise<Pick<ChatServers, 'portkey' | 'notes'>> {
  if (short) return { portkey: undefined, notes: ['Portkey’s gateway is left out of a short run.'] };
  try {
    say('Portkey’s gateway: from the cache, or from npm');
    const served = await startPortkey(await installPortkey(cacheDir), serverCore);
    const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream.origin}/v1` };
    const portkey = { ...served, path: '/v1/chat/completions', model: 'mock-model', headers };
    return { portkey, notes: [] };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return { portkey: undefined, notes: [`Portkey’s gateway could not be had: ${reason}`] };
  }
}

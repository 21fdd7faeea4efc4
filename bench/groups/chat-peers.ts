/** Peers of chat: installed into the bench's cache, or left out with a note that says why. */
import { cpuMsOf, rssMiB } from '../harness/processes.ts';
import type { RunningPeer, Setting } from '../harness/result.ts';
import { installLitellm, startLitellm } from '../servers/litellm.ts';
import { installPortkey, startPortkey } from '../servers/portkey.ts';
import type { StartServer } from './chat-servers.ts';

export const portkeyName = 'Portkey’s gateway';
export const litellmName = 'LiteLLM’s proxy';
type PeerName = typeof portkeyName | typeof litellmName;

const peers: Readonly<Record<PeerName, (cacheDir: string) => Promise<StartServer>>> = {
  async [portkeyName](cacheDir) {
    const entry = await installPortkey(cacheDir);
    return async ({ origin }) => ({
      ...(await startPortkey(entry)),
      path: '/v1/chat/completions',
      model: 'mock-model',
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${origin}/v1` },
    });
  },
  async [litellmName](cacheDir) {
    const folder = await installLitellm(cacheDir);
    return async ({ origin }) => ({
      ...(await startLitellm(folder, origin)),
      path: '/v1/chat/completions',
      model: 'bench',
      headers: {},
    });
  },
};

/** The caller ends the peer. */
const startedBefore =
  ({ name: _, ...peer }: RunningPeer): StartServer =>
  async () => ({
    ...peer,
    path: '/v1/chat/completions',
    headers: {},
    mayFail: true,
    cpuMs: async () => cpuMsOf(peer.pid),
    rssMiB: () => rssMiB(peer.pid),
    stop: () => Promise.resolve(),
  });

export async function preparePeers({ short, quick, cacheDir, peers: running, say }: Setting) {
  const starts: Record<string, StartServer> = {};
  for (const peer of running) starts[peer.name] = startedBefore(peer);
  const notes: string[] = [];
  for (const name of short || quick ? [] : (Object.keys(peers) as PeerName[])) {
    say(`${name}: from the cache, or from its registry`);
    try {
      starts[name] = await peers[name](cacheDir);
    } catch (error) {
      const reason = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
      notes.push(`${name} is left out, as it could not be installed: ${reason}`);
    }
  }
  if (short || quick) notes.push('Peers are left out of short and quick runs.');
  return { starts, notes };
}

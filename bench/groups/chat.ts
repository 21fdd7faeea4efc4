import { drive } from '../harness/drive.ts';
import { compareAtLevels, driveInTurn } from '../harness/levels.ts';
import { type Comparison, compare, type Group, type Setting } from '../harness/result.ts';
import { installPortkey, startPortkey } from '../servers/portkey.ts';
import {
  type ChatServer,
  chatContender,
  checkChat,
  eventsOf,
  openChatClient,
  type StreamShape,
} from './chat-call.ts';
import { type StartServer, startBareRelay, startParley, withChatServers } from './chat-servers.ts';

const relayName = 'bare undici relay';
const portkeyName = '@portkey-ai/gateway';
const shape = { pieces: 10 };
/** Long enough that the events, not the request, dominate the cost. */
const longShape = { pieces: 100 };

export const chatPlain: Group = {
  name: 'chat-plain',
  title: 'Chat, plain',
  method:
    'Parley with keys, money and durable records; a bare undici relay that parses and serialises and does nothing else; ' +
    'Portkey’s gateway. All relay to the same model and run on the same core in turn.',
  run: (setting) =>
    withContenders(setting, async (servers) =>
      (await levels('plain', servers, setting)).map((comparison) => {
        const { name, unit, yardstick } = comparison;
        if (name !== 'plain, 64 connections' || unit !== 'requests/s') return comparison;
        return { ...comparison, aim: yardstick === relayName ? 'plainByRelay' : 'plainByPortkey' } as const;
      }),
    ),
};

export const chatStreamed: Group = {
  name: 'chat-streamed',
  title: 'Chat, streamed',
  method:
    `As for plain chat, in streams of ${eventsOf(shape)} events, ten in a piece. CPU an event is that of streams of ` +
    `${eventsOf(longShape)} events, request and record included; the relay parses and edits each event.`,
  run: (setting) =>
    withContenders(setting, async (servers) => [
      await cpuPerEvent(servers, setting),
      ...(await levels('streamed', servers, setting, shape)),
    ]),
};

interface Servers {
  readonly parley: ChatServer;
  readonly relay: ChatServer;
  readonly portkey?: ChatServer;
}

async function withContenders(setting: Setting, work: (servers: Servers) => Promise<Comparison[]>) {
  const { portkey, notes } = await preparePortkey(setting);
  const always = { parley: startParley, relay: startBareRelay };
  const comparisons = portkey
    ? await withChatServers({ ...always, portkey }, work)
    : await withChatServers(always, work);
  return { comparisons, facts: [], notes };
}

async function preparePortkey({ short, cacheDir, say }: Setting) {
  if (short) return { notes: ['A short run leaves Portkey’s gateway out.'] };
  try {
    say('Portkey’s gateway: from the cache, or from npm');
    const entry = await installPortkey(cacheDir);
    const portkey: StartServer = async ({ origin }) => ({
      ...(await startPortkey(entry)),
      path: '/v1/chat/completions',
      model: 'mock-model',
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${origin}/v1` },
    });
    return { portkey, notes: [] };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return { notes: [`Portkey’s gateway could not be installed: ${reason}`] };
  }
}

async function levels(name: string, servers: Servers, setting: Setting, stream?: StreamShape) {
  const { parley, relay, portkey } = servers;
  for (const server of [parley, relay, portkey]) {
    if (!server) continue;
    await checkChat(server, stream);
    await warmUp(server, setting, stream);
  }
  const yardsticks = {
    [relayName]: chatContender(relay, stream),
    ...(portkey && { [portkeyName]: chatContender(portkey, stream) }),
  };
  return compareAtLevels(name, chatContender(parley, stream), yardsticks, setting);
}

/** Thousands of requests, until all code is compiled. */
async function warmUp(server: ChatServer, { short }: Setting, stream?: StreamShape): Promise<void> {
  const client = openChatClient(server, 64, stream);
  await drive(server, client.call, { atOnce: 64, forMs: short ? 0 : 2_500 });
  await client.close();
}

async function cpuPerEvent({ parley, relay }: Servers, { short, say }: Setting): Promise<Comparison> {
  say(`streams of ${eventsOf(longShape)} events`);
  const connections = short ? 4 : 16;
  const turns = short ? { rounds: 1 } : { rounds: 7, warmUps: 2 };
  const slices = await driveInTurn(
    { ours: chatContender(parley, longShape), theirs: chatContender(relay, longShape) },
    { connections, atOnce: connections, forMs: short ? 20 : 600, turns },
  );
  const what = {
    name: 'an event',
    yardstick: relayName,
    unit: 'µs CPU an event',
    aim: 'streamedByRelay',
  } as const;
  return compare(what, slices, ({ cpuUsPerCall }) => cpuUsPerCall / eventsOf(longShape));
}

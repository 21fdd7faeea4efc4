import { drive } from '../harness/drive.ts';
import type { Group, Setting } from '../harness/group.ts';
import type { Comparison } from '../harness/result.ts';
import { takeTurns } from '../harness/take-turns.ts';
import { type ChatServer, checkChat, eventsOf, openChatClient } from './chat-call.ts';
import { compareLevels, measureLevels, relayName, requestCount } from './chat-levels.ts';
import { type ChatServers, withChatServers } from './chat-servers.ts';

const shape = { pieces: 10 };
/** Long enough that the events are what costs, and not the request around them. */
const longShape = { pieces: 100 };

export const chatStreamed: Group = {
  name: 'chat-streamed',
  title: 'Chat, streamed',
  method:
    `As for plain chat, in streams of ${eventsOf(shape)} events, ten in a piece. CPU an event is that of streams of ` +
    `${eventsOf(longShape)} events, request and record included; the relay parses and edits each event.`,
  run: (setting) =>
    withChatServers(setting, async (servers) => {
      const { parley, relay, portkey, notes } = servers;
      for (const server of [parley, relay, portkey]) if (server) await checkChat(server, shape);
      const perEvent = await cpuPerEvent(servers, setting);
      const levels = await measureLevels(servers, setting, shape);
      const comparisons = [perEvent, ...compareLevels('streamed', levels)];
      return { comparisons, facts: [requestCount('streamed', levels)], notes };
    }),
};

async function cpuPerEvent({ parley, relay }: ChatServers, { short, say }: Setting): Promise<Comparison> {
  say(`streams of ${eventsOf(longShape)} events`);
  const load = { atOnce: short ? 4 : 16, forMs: short ? 20 : 600 };
  const clientOf = (server: ChatServer) => openChatClient(server, load.atOnce, longShape);
  const [ours, theirs] = [clientOf(parley), clientOf(relay)];
  const samples = await takeTurns(
    { ours: () => drive(parley, ours.call, load), theirs: () => drive(relay, theirs.call, load) },
    { rounds: short ? 1 : 7, warmUps: short ? 0 : 2 },
  );
  await Promise.all([ours.close(), theirs.close()]);
  return {
    name: 'an event',
    yardstick: relayName,
    unit: 'µs CPU an event',
    ours: samples.ours.map(({ cpuUsPerCall }) => cpuUsPerCall / eventsOf(longShape)),
    theirs: samples.theirs.map(({ cpuUsPerCall }) => cpuUsPerCall / eventsOf(longShape)),
    aim: 'streamedByRelay',
  };
}

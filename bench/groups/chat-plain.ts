import type { Group } from '../harness/group.ts';
import { checkChat } from './chat-call.ts';
import {
  compareLevels,
  isThroughputAt,
  measureLevels,
  portkeyName,
  relayName,
  requestCount,
} from './chat-levels.ts';
import { withChatServers } from './chat-servers.ts';

const isRelayAim = isThroughputAt(64, relayName);
const isPortkeyAim = isThroughputAt(64, portkeyName);

export const chatPlain: Group = {
  name: 'chat-plain',
  title: 'Chat, plain',
  method:
    'Parley with keys, money and records on and durable; a bare undici relay that parses and re-serialises, and does ' +
    'nothing else; Portkey’s gateway. All relay to the same model, each on one and the same core in its turn.',
  run: (setting) =>
    withChatServers(setting, async (servers) => {
      const { parley, relay, portkey, notes } = servers;
      for (const server of [parley, relay, portkey]) if (server) await checkChat(server);
      const levels = await measureLevels(servers, setting);
      const comparisons = compareLevels('plain', levels).map((comparison) => {
        if (isRelayAim(comparison)) return { ...comparison, aim: 'plainByRelay' as const };
        if (isPortkeyAim(comparison)) return { ...comparison, aim: 'plainByPortkey' as const };
        return comparison;
      });
      return { comparisons, facts: [requestCount('plain', levels)], notes };
    }),
};

/** Memory of sessions in which nobody has spoken, each on a connection of its own. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { LiveClient } from '../../test/support/live-client.ts';
import { untilIdle } from '../harness/threads.ts';
import { startChild } from '../servers/child.ts';

/** Opens a session of a key, and returns a function that ends it. */
type Open = (origin: string, key: string) => Promise<() => void>;

export const openers: Readonly<Record<'WebSocket' | 'gRPC', Open>> = {
  async WebSocket(origin, key) {
    const url = `${origin.replace('http', 'ws')}/api/v1/realtime?intent=transcription`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
    await once(socket, 'message');
    return () => socket.close();
  },
  async gRPC(origin, key) {
    const client = new LiveClient({ baseUrl: origin, apiKey: key });
    client.configure({ turnDetection: {} });
    // Without a turn it is answered at once.
    client.commit();
    await client.next('failure');
    return () => client.leave();
  },
};

const atOnce = 50;

/** The KiB that each of as many sessions takes, for the first time and once more. */
export async function idleCosts(sessions: number, open: Open) {
  const server = await startChild('parley');
  // An account may have half of a server's sessions.
  const keys = [server.key, ((await server.ask('account')) as { key: string }).key];
  const memory = async () => {
    await untilIdle(server.pid);
    const { liveBytes } = (await server.ask('memory')) as { liveBytes: number };
    return { live: liveBytes / 1024, resident: server.rssMiB() * 1024 };
  };
  const round = async () => {
    const before = await memory();
    const ends: (() => void)[] = [];
    while (ends.length < sessions) {
      const group = Array.from({ length: atOnce }, (_, at) => open(server.origin, keys[at % 2] ?? ''));
      ends.push(...(await Promise.all(group)));
    }
    const { live, resident } = await memory();
    for (const end of ends) end();
    return { live: (live - before.live) / sessions, resident: (resident - before.resident) / sessions };
  };
  try {
    return { first: await round(), again: await round() };
  } finally {
    await server.stop();
  }
}

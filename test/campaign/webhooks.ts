/**
 * Servers are killed while they raise alerts and send them: each alert arrives with the same body every time, and none
 * is raised twice.
 */
import { expect } from 'vitest';
import { type Serving, until } from '../support/command-line.ts';
import { startReceiver, toReceivers } from '../support/webhook-receiver.ts';
import type { Round } from './scenario.ts';

const accounts = 4;
const kills = 5;
/** Credits for some fifty short chats. */
const budget = '0.0005';
const percents = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

interface ListedAlert {
  readonly id: string;
  readonly type: string;
  readonly key_id?: string;
  readonly limit_name?: string;
  readonly percent?: number;
  readonly delivery: { readonly state: string };
}

interface Watched {
  readonly name: string;
  readonly secret: string;
}

/** Settings of servers that send to the receiver of a round. */
export const webhookSettings = { alerts: toReceivers };

/** Servers that share a database. The next one starts after one was killed. */
export interface AlertingServers {
  readonly adminKey: string;
  readonly running: Serving[];
  start(): Promise<Serving>;
}

export async function playWebhooks(round: Round, servers: AlertingServers): Promise<string> {
  const { random } = round;
  const receiver = await startReceiver();
  round.defer(() => receiver.close());
  const { running } = servers;
  const admin: Admin = async (path, body) => {
    const headers = { authorization: `Bearer ${servers.adminKey}` };
    const sent = body && { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${running[0]?.baseUrl}/admin/accounts${path}`, { headers, ...sent });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as AdminAnswer;
  };
  const watched: Watched[] = [];
  for (let n = 0; n < accounts; n++) watched.push(await open(admin, `watched-${n}`, receiver.origin));
  for (let kill = 0; kill < kills; kill++) {
    // A failed delivery is repeated after 15 seconds. A delivery without an answer is repeated by the next server.
    receiver.holds = random.onceIn(2);
    receiver.status = random.onceIn(4) ? 500 : 200;
    const before = receiver.received.length;
    await chatUntil(running, watched, () => receiver.received.length > before + random.below(2));
    const at = random.below(running.length);
    running[at]?.kill('SIGKILL');
    round.kills++;
    await running[at]?.ended;
    running[at] = await servers.start();
  }
  receiver.holds = false;
  receiver.status = 200;
  const list = async () => {
    const pages = await Promise.all(watched.map(({ name }) => admin(`/${name}/alerts?page_size=100`)));
    return pages.map(({ alerts }) => alerts);
  };
  await until(async () => (await list()).flat().every(({ delivery }) => delivery.state === 'delivered'));
  const ids = (await list()).flat().map(({ id }) => id);
  const bodies = Map.groupBy(receiver.received, ({ alert }) => String(alert['id']));
  const listed = await list();
  expect(ids.filter((id) => !bodies.has(id))).toEqual([]);
  const known = new Set(listed.flat().map(({ id }) => id));
  expect([...bodies.keys()].filter((id) => !known.has(id))).toEqual([]);
  for (const sent of bodies.values()) expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  for (const alerts of listed) {
    const marks = alerts.map(({ type, key_id, limit_name, percent }) =>
      [type, key_id, limit_name, percent].join(' '),
    );
    expect(marks).toEqual([...new Set(marks)]);
  }
  return `${ids.length} alerts, sent ${receiver.received.length} times`;
}

interface AdminAnswer {
  readonly secret: string;
  readonly alerts: readonly ListedAlert[];
}

type Admin = (path: string, body?: object) => Promise<AdminAnswer>;

async function open(admin: Admin, name: string, webhookUrl: string): Promise<Watched> {
  await admin('', { name });
  await admin(`/${name}/credits`, { amount: '1', reason: 'test', idempotency_key: 'first' });
  await admin(`/${name}/limits`, { limits: { budgets: { total: budget } } });
  await admin(`/${name}/alerts/settings`, { settings: { webhook_url: webhookUrl, percents } });
  const { secret } = await admin(`/${name}/keys`, { name });
  return { name, secret };
}

/** Spends the budgets bit by bit, until the condition is true or nothing is left, after which no further alert is raised. */
async function chatUntil(
  running: readonly Serving[],
  watched: readonly Watched[],
  holds: () => boolean,
): Promise<void> {
  let n = 0;
  const spent = new Set<string>();
  const body = JSON.stringify({ model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] });
  await until(async () => {
    const { secret } = watched[n % watched.length] ?? { secret: '' };
    const { baseUrl } = running[n++ % running.length] ?? { baseUrl: '' };
    const headers = { authorization: `Bearer ${secret}` };
    const response = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body });
    const text = await response.text();
    if (text.includes('budget_exceeded')) spent.add(secret);
    else if (!response.ok && response.status !== 503) throw new Error(text);
    return holds() || spent.size === watched.length;
  });
}

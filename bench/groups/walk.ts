/** The way of one chat: the files and functions that it wakes on a warm server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { postgresPrograms } from '../../test/support/postgres/programs.ts';
import type { AimName } from '../harness/aims.ts';
import type { Fact, Group } from '../harness/result.ts';
import { median } from '../harness/statistics.ts';
import type { Child } from '../servers/child.ts';
import { startPostgres } from '../servers/postgres.ts';
import type { Walk } from '../servers/walk.ts';
import type { ChatServer } from './chat-call.ts';
import { startParleyWith, withChatServers } from './chat-servers.ts';

/** Time for what follows an answer, such as the end of its connection. Timers of a second run in few rounds, so the median has none of them. */
const settleMs = 100;
const mostCalled = 12;

export const walk: Group = {
  name: 'walk',
  title: 'The way of a chat',
  method:
    'Files, functions and calls of src/ and gen/ that one request on a warm server wakes, by V8’s precise coverage: the median of some ' +
    'requests, as timers of the server run too.',
  charts: [],
  needs: ['cc'],
  async run({ short }) {
    const rounds = short ? 1 : 5;
    const onSqlite = await walksOf('SQLite', {}, rounds);
    const programs = postgresPrograms();
    if (programs === undefined) return { comparisons: [], ...onSqlite };
    const server = await startPostgres(programs);
    try {
      const store = { kind: 'postgres', url: await server.create('walk') };
      const onPostgres = await walksOf('PostgreSQL', { store }, rounds);
      const both = <T>(of: (each: typeof onSqlite) => readonly T[]) => [...of(onSqlite), ...of(onPostgres)];
      return { comparisons: [], facts: both(({ facts }) => facts), notes: both(({ notes }) => notes) };
    } finally {
      await server.stop();
    }
  },
};

const aimsOf: Readonly<Record<string, AimName>> = {
  'a plain chat on SQLite, files': 'walkFiles',
  'a plain chat on SQLite, functions': 'walkFunctions',
  'a plain chat on SQLite, calls': 'walkCalls',
  'a plain chat on PostgreSQL, calls': 'walkCallsPostgres',
};

async function walksOf(store: string, settings: object, rounds: number) {
  const starts = { parley: startParleyWith({}, settings) };
  return withChatServers(starts, async ({ parley }) => {
    const { ask } = parley as typeof parley & Child;
    const walksFor = async (send: () => Promise<unknown>) => {
      for (let warmUp = 0; warmUp < 6; warmUp++) await send();
      const walks: Walk[] = [];
      for (let round = 0; round < rounds; round++) {
        await sleep(settleMs);
        await ask('walk');
        await send();
        await sleep(settleMs);
        walks.push((await ask('walk')) as Walk);
      }
      return walks;
    };
    await ask('walk');
    const plain = await walksFor(() => chat(parley));
    const streamed = await walksFor(() => chat(parley, { stream: true, bench: { pieces: 1 } }));
    return {
      facts: [
        ...factsOf(`a plain chat on ${store}`, plain),
        ...factsOf(`a stream of ten words on ${store}`, streamed),
      ],
      notes: [`Most called by a plain chat on ${store}: ${mostCalledOf(plain)}.`],
    };
  });
}

async function chat({ origin, path, key, model }: ChatServer, more: object = {}): Promise<void> {
  const answer = await fetch(origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more }),
  });
  if (!(await answer.text()).includes('word')) throw new Error(`a chat was answered with ${answer.status}`);
}

function factsOf(name: string, walks: readonly Walk[]): Fact[] {
  const fact = (unit: string, count: (walk: Walk) => number): Fact => {
    const aim = aimsOf[`${name}, ${unit}`];
    return { name, unit, values: walks.map(count), ...(aim && { aim }) };
  };
  const functionsOf = (each: Walk) => Object.values(each).flatMap((functions) => Object.values(functions));
  return [
    fact('files', (each) => Object.keys(each).length),
    fact('functions', (each) => functionsOf(each).length),
    fact('calls', (each) => functionsOf(each).reduce((sum, calls) => sum + calls, 0)),
  ];
}

function mostCalledOf(walks: readonly Walk[]): string {
  const calls = new Map<string, number[]>();
  for (const each of walks) {
    for (const [file, functions] of Object.entries(each)) {
      for (const [name, count] of Object.entries(functions)) {
        const key = `${file.replace(/^src\//, '')} ${name.replace(/^@/, 'anonymous@')}`;
        calls.set(key, [...(calls.get(key) ?? []), count]);
      }
    }
  }
  const medians = [...calls].map(([name, counts]) => [name, median(counts)] as const);
  const most = medians.sort(([, a], [, b]) => b - a).slice(0, mostCalled);
  return most.map(([name, count]) => `${name} ${count}`).join(', ');
}

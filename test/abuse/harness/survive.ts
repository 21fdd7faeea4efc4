/** Runs attacks at random beside honest clients, and compares the server afterwards with the server before. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Books, fileFaults, readBooks } from '../../support/books.ts';
import type { Random } from '../../support/random.ts';
import type { Attack } from '../attack.ts';
import { memoryOf, play } from './measure.ts';
import type { SecondClient } from './second-client.ts';
import type { AbusedServer } from './server.ts';

export interface Survived {
  readonly attacks: number;
  readonly honest: number;
  readonly worstMs: number;
  readonly beforeMiB: number;
  readonly afterMiB: number;
  /** The missed aims; empty if all are met. */
  readonly misses: readonly string[];
}

const memoryRatioMax = 1.15;
/** Honest clients fill everything that any use fills: pools, V8's code, the cache of the database. */
const warmMs = 20_000;
/** Recognisers end half a minute after their last recording. */
const endThreadsMs = 35_000;
/** The server returns freed memory every 15 s. */
const returnMs = 20_000;
const endedMsMax = 60_000;
/** Collecting takes the server some tenths of a second. */
const collectEveryMs = 2_000;

interface Play {
  readonly attacks: readonly Attack[];
  readonly forMs: number;
  readonly random: Random;
  readonly say: (line: string) => void;
}

export async function survive(
  server: AbusedServer,
  second: SecondClient,
  { attacks, forMs, random, say }: Play,
): Promise<Survived> {
  second.begin('mixed');
  await sleep(warmMs);
  await second.end();
  const beforeMiB = await settledMiB(server);
  const mostMiB = beforeMiB * memoryRatioMax;
  second.begin('mixed');
  const deadline = Date.now() + forMs;
  let played = 0;
  while (Date.now() < deadline && server.exit === undefined) {
    const attack = random.pick(attacks);
    say(attack.name);
    // The table checks the answers. Attacks that run together may hit limits that one alone does not.
    await play(attack, server).catch(() => undefined);
    played++;
  }
  const { ids, failures, worstMs } = await second.end();
  const misses = failures.slice(0, 5).map((failure) => `an honest request failed: ${failure}`);
  if (server.exit !== undefined) misses.push(`the process ended: ${server.exit}; ${server.log.slice(-2000)}`);
  const afterMiB = server.exit === undefined ? await returnedMiB(server, mostMiB) : Number.NaN;
  if (afterMiB > mostMiB) misses.push(`memory is ${(afterMiB / beforeMiB).toFixed(2)} of before`);
  misses.push(
    ...bookFaults(await endedBooks(server.dataDir), ids),
    ...fileFaults(server.dataDir).map(String),
  );
  return { attacks: played, honest: ids.length, worstMs, beforeMiB, afterMiB, misses };
}

async function settledMiB(server: AbusedServer): Promise<number> {
  await sleep(endThreadsMs);
  await server.ask({ ask: 'collect' });
  await sleep(returnMs);
  return memoryOf(server.pid).rssMiB;
}

/** The memory once it is at most that, or after the time in which it must come back. */
async function returnedMiB(server: AbusedServer, mostMiB: number): Promise<number> {
  const deadline = Date.now() + endThreadsMs + returnMs;
  for (;;) {
    await server.ask({ ask: 'collect' });
    const { rssMiB } = memoryOf(server.pid);
    if (rssMiB <= mostMiB || Date.now() > deadline) return rssMiB;
    await sleep(collectEveryMs);
  }
}

/** The books after all requests have ended. */
async function endedBooks(dataDir: string): Promise<Books> {
  const deadline = Date.now() + endedMsMax;
  for (;;) {
    const books = readBooks(dataDir);
    const isEnded = books.records.every(({ state }) => state !== 'started');
    if (isEnded || Date.now() > deadline) return books;
    await sleep(100);
  }
}

/** @param ids of the honest requests that were served */
function bookFaults({ faults, accounts, records }: Books, ids: readonly string[]): string[] {
  const states = new Map(records.map(({ id, state }) => [id, state]));
  const lost = ids.filter((id) => states.get(id) !== 'ok');
  const open = records.filter(({ state }) => state === 'started');
  const held = accounts.filter(({ held }) => held !== 0n);
  return [
    ...faults.slice(0, 5),
    ...(lost.length > 0 ? [`${lost.length} served requests have no record of it: ${lost[0]}`] : []),
    ...(open.length > 0 ? [`${open.length} records have not ended`] : []),
    ...held.map(({ name, held }) => `${name} still holds ${held}`),
  ];
}

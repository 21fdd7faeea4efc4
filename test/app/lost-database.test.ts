/** A server whose database disappears while it runs: it answers no request that it cannot store. */
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorOf, type Parley, startParley } from '../support/parley.ts';

const soon = { timeout: 120_000 };
const hello = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };

let parley: Parley;
const errorsLogged: string[] = [];
beforeEach(async () => {
  errorsLogged.length = 0;
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_: object, message: string) => void errorsLogged.push(message),
  };
  parley = await startParley({ log });
});
afterEach(() => parley.close());

const database = () => join(parley.dataDir, 'parley.db');
const readyz = () => fetch(new URL('/readyz', parley.baseUrl));

const losses: [string, () => void][] = [
  ['the data folder was removed', () => rmSync(parley.dataDir, { recursive: true })],
  ['the data folder was moved', () => renameSync(parley.dataDir, `${parley.dataDir}.moved`)],
  ['the database was removed', () => rmSync(database())],
  ['the log of the database was removed', () => rmSync(`${database()}-wal`)],
  [
    'the database was replaced',
    () => {
      cpSync(database(), `${database()}.other`);
      renameSync(`${database()}.other`, database());
    },
  ],
];

describe('a server', () => {
  it.each(losses)('answers no chat and no load while %s', async (_, lose) => {
    expect((await parley.postJson('/chat/completions', hello)).status).toBe(200);
    lose();
    const load = (n: number) => ({ amount: '1', reason: 'test', idempotency_key: `load ${n}` });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2 === 0
          ? parley.postJson('/chat/completions', hello)
          : parley.admin('/accounts/account-1/credits', load(n)),
      ),
    );
    for (const answer of answers) {
      expect(await errorOf(answer)).toMatchObject({ status: 503, code: 'overloaded' });
      expect(answer.headers.get('retry-after')).toBe('2');
    }
    expect((await readyz()).status).toBe(503);
    const totals = await parley.admin('/usage/totals');
    if (!existsSync(database())) expect((await errorOf(totals)).code).toBe('overloaded');
    rmSync(`${parley.dataDir}.moved`, { recursive: true, force: true });
  });

  it.each(losses)('is not ready soon after %s, without a request, and says what to do', async (_, lose) => {
    expect((await readyz()).status).toBe(200);
    lose();
    await expect.poll(async () => (await readyz()).status, soon).toBe(503);
    expect(await (await readyz()).json()).toMatchObject({
      reason: 'The database is missing from the data folder.',
    });
    expect(errorsLogged).toEqual([
      expect.stringMatching(/Restore the files that were removed .* or restart the server/),
    ]);
    rmSync(`${parley.dataDir}.moved`, { recursive: true, force: true });
  });
});

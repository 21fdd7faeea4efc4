/** Accounts of a server and their books, read by its own admin calls. */
import { expect } from 'vitest';
import type { Caller, Subject } from './case.ts';
import { type HttpClient, openHttp1 } from './http-client.ts';
import type { Target } from './wire.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Account extends Subject {
  readonly id: string;
  /** The `Authorization` header to send; undefined for none. */
  readonly authorization: string | undefined;
}

/** An account as the operator sees it. */
export interface Books {
  /** Oldest first. */
  readonly records: readonly Json[];
  readonly entries: readonly Json[];
  readonly balance: number;
  readonly held: number;
  readonly usedUnits: number;
}

const settleMsMax = 120_000;

export class Operator {
  readonly #http: HttpClient;
  readonly #adminKey: string;
  #accounts = 0;

  constructor(target: Target) {
    this.#http = openHttp1(target);
    this.#adminKey = target.adminKey;
  }

  async open({
    trial = true,
    credits = '10',
    scopes = [],
    limits,
    isSuspended,
    key,
  }: Caller): Promise<Account> {
    const name = `conformance-${process.pid}-${Date.now()}-${++this.#accounts}`;
    const { id } = await this.#post('/accounts', { name });
    const path = `/accounts/${name}`;
    const load = { amount: credits, reason: 'test', idempotency_key: 'test' };
    const [issued] = await Promise.all([
      this.#post(`${path}/keys`, {
        name: 'test',
        // An empty list is an error; a key without the member has every scope.
        ...(scopes.length > 0 && { scopes }),
        ...(limits && { limits }),
      }),
      trial && this.#post(`${path}/trial`, {}),
      credits !== '0' && this.#post(`${path}/credits`, load),
    ]);
    if (isSuspended) await this.#post(`${path}/suspend`, {});
    const secrets = {
      own: String(issued['secret']),
      admin: this.#adminKey,
      unknown: `pk_${'0'.repeat(57)}`,
      none: undefined,
    };
    const secret = secrets[key ?? 'own'];
    return {
      id: String(id),
      accountName: name,
      keyId: String((issued['key'] as Json)['id']),
      authorization: secret && `Bearer ${secret}`,
    };
  }

  /** Waits until nothing of the account runs: the server notices a moment later that a client left. */
  async booksOf({ id }: Account, recordsExpected: number): Promise<Books> {
    const deadline = Date.now() + settleMsMax;
    for (;;) {
      const { records } = (await this.#get(`/usage?account_id=${id}`)) as { records: Json[] };
      const isLate = Date.now() > deadline;
      const isEnded = records.length >= recordsExpected && records.every(({ state }) => state !== 'started');
      if (isEnded || isLate) {
        const books = await this.#read(id, records.toReversed());
        // The server releases a hold a moment after the record is written.
        if (books.held === 0 || isLate) return books;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits for this many records, as a running request gets its record after a moment. */
  async untilRecorded({ id }: Account, count: number): Promise<void> {
    await expect
      .poll(async () => ((await this.#get(`/usage?account_id=${id}`))['records'] as Json[]).length)
      .toBe(count);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #read(id: string, records: readonly Json[]): Promise<Books> {
    const [ledger, account] = await Promise.all([
      this.#get(`/accounts/${id}/ledger`),
      this.#get(`/accounts/${id}`),
    ]);
    const { entries } = ledger as { entries: Json[] };
    return {
      records,
      entries: entries.toReversed(),
      balance: Number(account['balance_nano_credits']),
      held: Number(account['held_nano_credits']),
      usedUnits: Number((account['fair_use'] as Json)['used_units']),
    };
  }

  #get(path: string): Promise<Json> {
    return this.#send('GET', path);
  }

  #post(path: string, body: Json): Promise<Json> {
    return this.#send('POST', path, JSON.stringify(body));
  }

  async #send(method: string, path: string, body?: string): Promise<Json> {
    const headers = { authorization: `Bearer ${this.#adminKey}` };
    const answer = await this.#http.send({ method, path: `/api/v1/admin${path}`, headers, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body.toString());
  }
}

/** The real program on a separate folder, driven step by step beside the model. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../gen/parley/management/v1/management_pb.ts';
import { type App, createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { KnownHeaders } from '../../src/core/access/auth.ts';
import { cliCall } from '../../src/core/access/call.ts';
import { FailedKeys } from '../../src/core/access/failed-keys.ts';
import { Gate } from '../../src/core/access/gate.ts';
import { Unsettled } from '../../src/core/billing/unsettled.ts';
import type { Count } from '../../src/core/entities/count.ts';
import type { Scope } from '../../src/core/entities/key.ts';
import { Rates } from '../../src/core/entities/rates.ts';
import type { RequestObserver } from '../../src/core/entities/usage.ts';
import { toParleyError } from '../../src/core/values/errors.ts';
import { newRequestId } from '../../src/core/values/ids.ts';
import { creditDecimals, formatCredits, nanoCredits } from '../../src/core/values/money.ts';
import type { Books } from './books.ts';
import { type Entrance, MoneyRequest } from './money-request.ts';
import {
  type BudgetOwner,
  budgets,
  chatTokens,
  type Outcome,
  planUnits,
  prices,
  trialUnits,
  unitsPerSecond,
} from './money-rules.ts';
import {
  type AccountName,
  type Act,
  accountNames,
  chatModels,
  type Entry,
  type Request,
} from './money-steps.ts';
import type { TestClock } from './parley.ts';
import { ScriptedEngines } from './scripted-engines.ts';
import { newStoreFolder, type StoreFolder, writingHere } from './store-folder.ts';

const noObserver: RequestObserver = {
  began: () => undefined,
  held: () => undefined,
  ended: () => undefined,
  recognised: () => undefined,
  refusedKey: () => undefined,
};

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A stand-in for a process of the program: from its start on a folder to its end. */
interface Life extends Entrance {
  readonly app: App;
  readonly folder: StoreFolder;
}

/** A closed folder with both accounts, a trial for each and their keys. Every program starts with a copy of it. */
export class MoneyFolder {
  readonly clock: TestClock;
  readonly #folder: StoreFolder;
  readonly #keys = new Map<string, string>();
  /** The ids of the accounts and of the keys with a budget. */
  readonly #owners = new Map<AccountName, Record<BudgetOwner, string>>();

  private constructor(clock: TestClock, folder: StoreFolder) {
    this.clock = clock;
    this.#folder = folder;
    writeFileSync(this.settings, settings());
  }

  static async create(clock: TestClock): Promise<MoneyFolder> {
    const folder = new MoneyFolder(clock, await newStoreFolder());
    const { app } = await begin(folder, folder.#folder);
    for (const name of accountNames) await folder.#open(name, app);
    await app.close();
    return folder;
  }

  get settings(): string {
    return join(this.#folder.path, 'parley.yaml');
  }

  copy(): Promise<StoreFolder> {
    return this.#folder.killed();
  }

  keyFor({ account, flaw, operation }: Request): string {
    if (flaw === 'no key') return 'none';
    const narrow = operation === 'chat' ? 'speech' : 'chat';
    return this.#keys.get(`${account} ${flaw === 'no scope' ? narrow : 'whole'}`) ?? 'none';
  }

  ownersOf(name: AccountName): Record<BudgetOwner, string> {
    return this.#owners.get(name) ?? { account: '', key: '' };
  }

  remove(): Promise<void> {
    return this.#folder.remove();
  }

  async #open(name: AccountName, { services: { accounts } }: App): Promise<void> {
    const limitsOf = (period: 'day' | 'month', owner: BudgetOwner) => ({
      budgets: { [period]: formatCredits(nanoCredits(budgets[owner])) },
    });
    const { account } = await accounts.createAccount(
      create(pb.CreateAccountRequestSchema, { name }),
      cliCall,
    );
    const accountLimits = { accountId: name, limits: limitsOf('month', 'account') };
    await accounts.setAccountLimits(create(pb.SetAccountLimitsRequestSchema, accountLimits), cliCall);
    await accounts.startTrial(create(pb.StartTrialRequestSchema, { accountId: name }), cliCall);
    const allowed: Record<string, Scope[]> = { whole: [], chat: ['chat'], speech: ['speech'] };
    for (const [keyName, scopes] of Object.entries(allowed)) {
      const limits = limitsOf('day', 'key');
      const request = create(keyPb.CreateKeyRequestSchema, {
        accountId: name,
        name: keyName,
        scopes,
        limits,
      });
      const { key, secret } = await accounts.createKey(request, cliCall);
      this.#keys.set(`${name} ${keyName}`, secret);
      if (keyName === 'whole') this.#owners.set(name, { account: account?.id ?? '', key: key?.id ?? '' });
    }
  }
}

export class MoneyProgram {
  readonly #folder: MoneyFolder;
  readonly #running = new Map<string, MoneyRequest>();
  #life: Life;

  private constructor(folder: MoneyFolder, life: Life) {
    this.#folder = folder;
    this.#life = life;
  }

  static async start(folder: MoneyFolder): Promise<MoneyProgram> {
    return new MoneyProgram(folder, await begin(folder, await folder.copy()));
  }

  books(): Promise<Books> {
    return this.#life.folder.books();
  }

  async start(request: Request): Promise<{ id: string; outcome: Outcome }> {
    const id = newRequestId(this.#folder.clock.now());
    const { outcome, request: started } = await MoneyRequest.start(
      id,
      request,
      this.#folder.keyFor(request),
      this.#life,
    );
    if (started && outcome === 'runs') this.#running.set(id, started);
    return { id, outcome };
  }

  /** The limit of tokens that the engine of a running chat received. */
  maxTokensOf(id: string): number | undefined {
    return this.#request(id).maxTokens;
  }

  async act(id: string, act: Act): Promise<Outcome> {
    const outcome = await this.#request(id).act(act);
    if (outcome !== 'runs') this.#running.delete(id);
    return outcome;
  }

  async enter(kind: 'load' | 'adjustment', { account, nano, reference }: Entry): Promise<Outcome> {
    const { accounts } = this.#life.app.services;
    const amount = formatCredits(nanoCredits(BigInt(nano)));
    const entry = { accountId: account, amount, reason: 'test', idempotencyKey: reference };
    try {
      if (kind === 'load') await accounts.loadCredits(create(pb.LoadCreditsRequestSchema, entry), cliCall);
      else await accounts.adjustCredits(create(pb.AdjustCreditsRequestSchema, entry), cliCall);
      return 'answered';
    } catch (error) {
      return toParleyError(error).code;
    }
  }

  /** The credits as the program knows them, with the holds of all running requests. */
  async fundsOf(name: AccountName): Promise<{ balance: bigint; held: bigint } | undefined> {
    const account = await this.#life.app.store.accounts.find(name);
    return account && { balance: account.balance, held: account.held };
  }

  /** Used and reserved amounts, with those of all that runs. */
  taken(counts: readonly Count[]): Promise<readonly bigint[]> {
    return this.#life.app.store.requests.taken(counts);
  }

  async activatePlan(accountId: AccountName, days: number): Promise<void> {
    const endsAt = timestampFromMs(this.#folder.clock.now() + days * 24 * 3_600_000);
    const request = create(pb.ActivatePlanRequestSchema, { accountId, endsAt });
    await this.#life.app.services.accounts.activatePlan(request, cliCall);
  }

  /** Ends all requests as if their clients had left, ends the program, and starts it on the same folder. */
  async restart(): Promise<void> {
    for (const request of this.#running.values()) await request.leave();
    await this.#end();
    this.#life = await begin(this.#folder, this.#life.folder);
  }

  /**
   * Starts the program on the data that a kill at this moment leaves on the disk. Running requests get no signal and
   * never continue.
   */
  async kill(): Promise<void> {
    const left = await this.#life.folder.killed();
    await this.close();
    this.#life = await begin(this.#folder, left);
  }

  async close(): Promise<void> {
    await this.#end();
    await this.#life.folder.remove();
  }

  async #end(): Promise<void> {
    this.#running.clear();
    await this.#life.app.close();
  }

  #request(id: string): MoneyRequest {
    const request = this.#running.get(id);
    if (request === undefined) throw new Error(`the request ${id} does not run`);
    return request;
  }
}

async function begin({ clock, settings: file }: MoneyFolder, folder: StoreFolder): Promise<Life> {
  const script = new ScriptedEngines();
  const config = loadConfig({
    env: {},
    file,
    overrides: { server: { port: 0 }, ...folder.settings, log: { level: 'silent' } },
  });
  const app = await createApp(config, { clock, log: silent, engines: script.engines, ...writingHere });
  const { store, services } = app;
  const gate = new Gate({
    store,
    clock,
    accessClock: clock,
    givenAdmin: undefined,
    knownHeaders: new KnownHeaders(),
    log: silent,
    unsettled: new Unsettled(store, silent),
    observer: noObserver,
    isModel: () => true,
    keepsLabels: true,
    failedKeys: new FailedKeys(0),
    rates: new Rates(),
    endUsersMax: 1_000,
  });
  return { app, services, gate, script, folder };
}

/** YAML accepts JSON. Prices are written as texts, as numbers of JSON are floats. */
function settings(): string {
  const chat = chatModels.map((id) => ({
    id,
    type: 'chat',
    engine: 'builtin',
    contextTokens: chatTokens,
    price: {
      input: inCredits(prices[id].input),
      output: inCredits(prices[id].output),
      cachedInput: inCredits(prices[id].cached),
      cacheWrite: inCredits(prices[id].written),
    },
  }));
  const audio = [
    { id: 'voice', type: 'speech', engine: 'builtin' },
    { id: 'ear', type: 'transcription', engine: 'builtin' },
  ];
  const fairUse = {
    planUnitsPerMonth: planUnits,
    trialUnitsPerMonth: trialUnits,
    transcriptionUnitsPerSecond: unitsPerSecond,
  };
  return JSON.stringify({ fairUse, models: [...audio, ...chat] });
}

function inCredits(nano: bigint): string {
  const digits = String(nano).padStart(creditDecimals + 1, '0');
  return `${digits.slice(0, -creditDecimals)}.${digits.slice(-creditDecimals)}`;
}

/**
 * A model of two accounts under the rules of requests, in plain variables: no database, no engine and nothing of the program's own
 * arithmetic.
 */
import { ExpectedBooks, leastOf } from './expected-books.ts';
import {
  type BudgetOwner,
  budgetOwners,
  budgets,
  type ChargedTokens,
  chatTokens,
  costOf,
  type ExpectedAccount,
  type ExpectedRecord,
  ended,
  type Kept,
  type Outcome,
  planHold,
  planUnits,
  type Running,
  statuses,
  type TextTokens,
  trialUnits,
  unitsPerSecond,
} from './money-rules.ts';
import {
  type AccountName,
  type Act,
  accountNames,
  type ChatRequest,
  type Entry,
  type Report,
  type Request,
  type SpeechRequest,
  type TranscriptionRequest,
} from './money-steps.ts';

type Planned = Pick<Running, 'maxTokens' | 'reserved'>;

const noCache = [0, 0] as const;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export class MoneyModel {
  readonly #accounts: Readonly<Record<AccountName, ExpectedAccount>>;
  readonly #tokens: TextTokens;
  readonly #ownersOf: (name: AccountName) => Record<BudgetOwner, string>;
  readonly books = new ExpectedBooks();
  running: Running[] = [];
  nowMs: number;

  /** Both accounts have a trial from now on. @param ownersOf the ids of an account and its key */
  constructor(
    nowMs: number,
    tokens: TextTokens,
    ownersOf: (name: AccountName) => Record<BudgetOwner, string>,
  ) {
    this.nowMs = nowMs;
    this.#tokens = tokens;
    this.#ownersOf = ownersOf;
    const account = (): ExpectedAccount => ({
      trialEndsMs: nowMs + 14 * dayMs,
      plan: undefined,
      records: new Map(),
      kept: new Map(),
    });
    this.#accounts = { ada: account(), bob: account() };
  }

  credits(name: AccountName): { readonly balance: bigint; readonly held: bigint } {
    const { balance, held } = this.books.credits(this.#ownersOf(name).account);
    return { balance, held };
  }

  /** The records of all requests, and those that run. */
  records(name: AccountName): ReadonlyMap<string, ExpectedRecord> {
    return this.#accounts[name].records;
  }

  start(id: string, request: Request): Outcome {
    if (request.flaw === 'no key') return 'invalid_api_key';
    const account = this.#accounts[request.account];
    const refusal = this.#refusalOf(request, account);
    if (refusal !== undefined) return this.#refuse(id, request, refusal);
    const kept = this.#keptFor(request);
    if (kept && (kept.isRunning || kept.fingerprint !== fingerprintOf(request))) {
      return this.#refuse(id, request, 'idempotency_conflict');
    }
    if (kept) {
      account.records.set(id, { ...ended('replayed'), status: 200 });
      return 'answered';
    }
    return this.#admit(id, request);
  }

  act(running: Running, act: Act): Outcome {
    const { request } = running;
    switch (act.act) {
      case 'role':
        return 'runs';
      case 'output':
        if (request.operation === 'chat') running.words++;
        running.hasOutput ||= request.operation === 'speech' || request.streamed;
        return 'runs';
      case 'heard':
        return this.#hear(running, act.durationMs) ?? 'runs';
      case 'end':
        if (request.operation === 'speech' && !running.hasOutput) {
          return this.#void(running, 'failed', 'upstream_error');
        }
        return this.#hear(running, act.durationMs) ?? this.#settle(running, 'ok', act.report);
      case 'leave':
      case 'hang up':
        if (running.hasOutput) return this.#settle(running, 'cancelled', undefined);
        return this.#void(running, 'cancelled', 'request_cancelled');
      case 'time out':
        return this.#void(running, 'failed', 'overloaded');
      case 'fail':
      case 'break off':
        return this.#void(running, 'failed', 'upstream_error');
    }
  }

  enter(kind: 'load' | 'adjustment', { account: name, nano, reference }: Entry): Outcome {
    const { account } = this.#ownersOf(name);
    const outcome = this.books.enter(account, kind, BigInt(nano), reference);
    if (outcome === 'conflict') return 'idempotency_conflict';
    return outcome === 'entered' ? 'answered' : outcome;
  }

  activatePlan(name: AccountName, days: number): void {
    const account = this.#accounts[name];
    const { plan } = account;
    const startsMs = plan && plan.endsMs > this.nowMs ? plan.startsMs : this.nowMs;
    account.plan = { startsMs, endsMs: this.nowMs + days * dayMs };
  }

  pass(hours: number): void {
    this.nowMs += hours * hourMs;
  }

  /** The account in the database, which does not have recent requests without a started record. */
  booked(name: AccountName, isWritten: (id: string) => boolean) {
    const running = this.running.filter(({ request, id }) => request.account === name && isWritten(id));
    const held = running.reduce((sum, { reserved }) => sum + (reserved.hold ?? 0n), 0n);
    const records = [...this.records(name)].filter(([id, { state }]) => state !== 'started' || isWritten(id));
    const { balance, entries } = this.books.credits(this.#ownersOf(name).account);
    const debits = records.flatMap(([id, { cost = 0n }]) =>
      cost > 0n ? [[id, { kind: 'debit', amount: -cost }] as const] : [],
    );
    return { balance, held, records, entries: [...entries, ...debits] };
  }

  /** Requests without a started record leave no trace. */
  kill(isWritten: (id: string) => boolean): void {
    for (const running of [...this.running]) {
      this.#void(running, 'interrupted', 'internal_error');
      if (!isWritten(running.id)) this.#accounts[running.request.account].records.delete(running.id);
    }
  }

  /** Refusals that do not depend on the request's Idempotency-Key. */
  #refusalOf({ flaw, operation }: Request, account: ExpectedAccount): string | undefined {
    if (flaw === 'no scope') return 'insufficient_scope';
    if (operation !== 'chat' && this.#limitOf(account) === undefined) return 'subscription_required';
    if (operation === 'transcription' && flaw === 'bad field') return 'missing_file';
    return undefined;
  }

  #admit(id: string, request: Request): Outcome {
    const account = this.#accounts[request.account];
    if (request.flaw === 'bad field') return this.#refuse(id, request, 'unknown_model');
    const planned = request.operation === 'chat' ? this.#planChat(request) : this.#planAudio(request);
    if (typeof planned === 'string') return this.#refuse(id, request, planned);
    this.books.reserve(planned.reserved);
    this.running.push({ id, request, words: 0, heardMs: 0, hasOutput: false, ...planned });
    account.records.set(id, ended('started'));
    this.#claim(id, request, account);
    return 'runs';
  }

  #planChat(request: ChatRequest): Planned | string {
    const owners = this.#ownersOf(request.account);
    const periods = { account: this.#month, key: this.#day };
    const budgetsOf = (amount: bigint) =>
      budgetOwners.map((name) => {
        const count = { owner: owners[name], unit: 'credits', period: periods[name] } as const;
        return { ...count, amount, limit: budgets[name] };
      });
    const left = leastOf(this.books.left(budgetsOf(0n)));
    const available = this.books.available(owners.account);
    const plan = planHold(request, leastOf([left, available]));
    if (plan === undefined) return left < available ? 'budget_exceeded' : 'insufficient_credits';
    const { hold, maxTokens } = plan;
    return { maxTokens, reserved: { account: owners.account, hold, counted: budgetsOf(hold) } };
  }

  #planAudio(request: SpeechRequest | TranscriptionRequest): Planned | string {
    const { account } = this.#ownersOf(request.account);
    const amount = request.operation === 'speech' ? BigInt(request.characters) : 0n;
    const limit = BigInt(this.#limitOf(this.#accounts[request.account]) ?? 0);
    const counted = [{ owner: account, unit: 'fair_use', period: this.#month, amount, limit }] as const;
    if (this.books.excess(counted)) return 'fair_use_limit_reached';
    return { maxTokens: undefined, reserved: { account, hold: undefined, counted } };
  }

  get #day(): string {
    return new Date(this.nowMs).toISOString().slice(0, 10);
  }

  get #month(): string {
    return this.#day.slice(0, 7);
  }

  /** Audio can become longer than the rest of the month allows. */
  #hear(running: Running, durationMs: number): Outcome | undefined {
    const { request, reserved } = running;
    if (request.operation !== 'transcription') return undefined;
    running.heardMs = Math.max(running.heardMs, durationMs);
    const amount = BigInt(Math.ceil(running.heardMs / 1000) * unitsPerSecond);
    const more = amount - unitsOf(running);
    if (more <= 0n) return undefined;
    if (this.books.excess(reserved.counted.map((one) => ({ ...one, amount: more })))) {
      return this.#void(running, 'refused', 'fair_use_limit_reached');
    }
    this.books.extend(
      reserved,
      reserved.counted.map((one) => ({ ...one, amount })),
    );
    return undefined;
  }

  #settle(running: Running, state: 'ok' | 'cancelled', report: Report | undefined): Outcome {
    const { request, reserved } = running;
    const record = { ...ended(state), status: state === 'ok' ? 200 : 499 };
    if (state === 'cancelled') record.code = 'request_cancelled';
    if (request.operation === 'chat') {
      const tokens = this.#tokensOf(running, report);
      const cost = costOf(request.model, tokens);
      const { debit, overrun } = this.books.settle(reserved, { cost, fairUse: 0n, keepsCounts: true });
      record.tokens = tokens;
      record.cost = debit;
      if (overrun > 0n) record.overrun = overrun;
    } else {
      const fairUse = unitsOf(running);
      record.units = Number(fairUse);
      this.books.settle(reserved, { fairUse, keepsCounts: true });
    }
    this.#end(running, record, state === 'ok');
    return state === 'ok' ? 'answered' : 'request_cancelled';
  }

  #void(running: Running, state: string, code: string): Outcome {
    const { request, reserved, hasOutput } = running;
    const fairUse = state === 'refused' && hasOutput ? unitsOf(running) : 0n;
    this.books.settle(reserved, { fairUse, keepsCounts: false });
    const units = request.operation === 'chat' ? undefined : Number(fairUse);
    this.#end(running, { ...ended(state), code, status: statuses[code], units }, false);
    return code;
  }

  #end({ id, request }: Running, record: ExpectedRecord, isKept: boolean): void {
    const { records, kept } = this.#accounts[request.account];
    records.set(id, record);
    this.running = this.running.filter((other) => other.id !== id);
    const claim = kept.get(claimKey(request));
    if (claim?.id !== id) return;
    if (isKept) claim.isRunning = false;
    else kept.delete(claimKey(request));
  }

  #refuse(id: string, { account }: Request, code: string): Outcome {
    this.#accounts[account].records.set(id, { ...ended('refused'), code, status: statuses[code] });
    return code;
  }

  #tokensOf({ words, request, maxTokens = 0 }: Running, report: Report | undefined): ChargedTokens {
    const counted = this.#tokens.words(words);
    const completion = report ? report.completion + report.apart : 0;
    if (report && report.prompt > 0 && report.completion >= 0 && (completion > 0 || words === 0)) {
      const allowed = request.operation === 'chat' ? maxTokens * request.n : 0;
      const prompt = Math.min(report.prompt, chatTokens);
      const isPossible = report.prompt === prompt && (completion <= allowed || completion <= counted);
      const [read, written] = report.cache ?? [0, 0];
      const isTrue = read >= 0 && read + written <= prompt;
      const cache = isTrue ? ([read, written] as const) : noCache;
      if (isPossible) return [prompt, completion, 'reported', ...cache];
      const bounded = completion <= allowed ? completion : Math.max(allowed, counted);
      return [prompt, bounded, 'estimated', ...cache];
    }
    return [this.#tokens.prompt, counted, 'estimated', ...noCache];
  }

  #limitOf({ plan, trialEndsMs }: ExpectedAccount): number | undefined {
    if (plan && plan.startsMs <= this.nowMs && this.nowMs < plan.endsMs) return planUnits;
    return this.nowMs < trialEndsMs ? trialUnits : undefined;
  }

  #keptFor(request: Request): Kept | undefined {
    if (!isRepeatable(request)) return undefined;
    for (const name of accountNames) {
      const { kept } = this.#accounts[name];
      for (const [key, { atMs }] of kept) if (atMs < this.nowMs - dayMs) kept.delete(key);
    }
    return this.#accounts[request.account].kept.get(claimKey(request));
  }

  #claim(id: string, request: Request, { kept }: ExpectedAccount): void {
    if (!isRepeatable(request)) return;
    kept.set(claimKey(request), {
      fingerprint: fingerprintOf(request),
      id,
      atMs: this.nowMs,
      isRunning: true,
    });
  }
}

/** The units that a request for audio has reserved. */
const unitsOf = ({ reserved }: Running) => reserved.counted[0]?.amount ?? 0n;

const claimKey = ({ operation, idempotencyKey }: Request) => `${operation} ${idempotencyKey}`;

/** The fields that a repeated request must repeat. */
function fingerprintOf(request: Request): string {
  if (request.operation === 'transcription') return '';
  const isBad = request.flaw === 'bad field';
  if (request.operation === 'speech') return JSON.stringify([isBad, request.characters]);
  const { model, maxTokens, n } = request;
  return JSON.stringify([isBad || model, maxTokens, n]);
}

/** Streams of chat and transcription ignore the key. */
function isRepeatable(request: Request): boolean {
  return request.idempotencyKey !== undefined && (request.operation === 'speech' || !request.streamed);
}

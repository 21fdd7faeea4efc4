/**
 * A model of two accounts under the rules of money, in plain variables: no database, no engine and nothing of the
 * program's own arithmetic.
 */
import {
  budgetOwners,
  budgets,
  chatTokens,
  costOf,
  countName,
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
  type Entry,
  type Report,
  type Request,
} from './money-steps.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export class MoneyModel {
  readonly #accounts: Readonly<Record<AccountName, ExpectedAccount>>;
  readonly #tokens: TextTokens;
  running: Running[] = [];
  nowMs: number;

  /** Both accounts have a trial from now on. */
  constructor(nowMs: number, tokens: TextTokens) {
    this.nowMs = nowMs;
    this.#tokens = tokens;
    const account = (): ExpectedAccount => ({
      trialEndsMs: nowMs + 14 * dayMs,
      plan: undefined,
      balance: 0n,
      entries: new Map(),
      records: new Map(),
      usedUnits: new Map(),
      spent: new Map(),
      kept: new Map(),
    });
    this.#accounts = { ada: account(), bob: account() };
  }

  of(name: AccountName) {
    const account = this.#accounts[name];
    const running = this.running.filter(({ request }) => request.account === name);
    const held = running.reduce((sum, { hold }) => sum + hold, 0n);
    return { ...account, held, running, units: unitsOf(account, running) };
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
    const { balance, held, entries } = this.of(name);
    const amount = BigInt(nano);
    const earlier = entries.get(reference);
    if (earlier)
      return earlier.kind === kind && earlier.amount === amount ? 'answered' : 'idempotency_conflict';
    if (balance + amount < held) return 'insufficient_credits';
    entries.set(reference, { kind, amount });
    this.#accounts[name].balance += amount;
    return 'answered';
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

  /** The account in the database, which does not know younger requests without a started record. */
  booked(name: AccountName, isWritten: (id: string) => boolean) {
    const account = this.#accounts[name];
    const running = this.running.filter(({ request, id }) => request.account === name && isWritten(id));
    const held = running.reduce((sum, { hold }) => sum + hold, 0n);
    const records = new Map(
      [...account.records].filter(([id, { state }]) => state !== 'started' || isWritten(id)),
    );
    return { ...account, records, held, units: unitsOf(account, running) };
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
    const day = new Date(this.nowMs).toISOString().slice(0, 10);
    const month = day.slice(0, 7);
    const limitUnits = this.#limitOf(account) ?? 0;
    const units = request.operation === 'speech' ? request.characters : 0;
    if (request.operation !== 'chat' && this.#units(request.account, month) + units > limitUnits) {
      return this.#refuse(id, request, 'fair_use_limit_reached');
    }
    const { balance, held } = this.of(request.account);
    const left = this.#budgetLeft(request.account, { month, day });
    const most = leastOf([left, balance - held]);
    const plan = request.operation === 'chat' ? planHold(request, most) : { hold: 0n };
    if (plan === undefined) {
      return this.#refuse(id, request, left < balance - held ? 'budget_exceeded' : 'insufficient_credits');
    }
    const none = { maxTokens: undefined, words: 0, heardMs: 0, hasOutput: false };
    this.running.push({ ...none, ...plan, id, request, month, day, limitUnits, units });
    account.records.set(id, ended('started'));
    this.#claim(id, request, account);
    return 'runs';
  }

  /** Audio can turn out longer than is left of the month. */
  #hear(running: Running, durationMs: number): Outcome | undefined {
    const { request, month, limitUnits } = running;
    if (request.operation !== 'transcription') return undefined;
    running.heardMs = Math.max(running.heardMs, durationMs);
    const more = Math.ceil(running.heardMs / 1000) * unitsPerSecond - running.units;
    if (more <= 0) return undefined;
    if (this.#units(request.account, month) + more > limitUnits) {
      return this.#void(running, 'refused', 'fair_use_limit_reached');
    }
    running.units += more;
    return undefined;
  }

  #settle(running: Running, state: 'ok' | 'cancelled', report: Report | undefined): Outcome {
    const { id, request, hold, month, units } = running;
    const account = this.#accounts[request.account];
    const record = { ...ended(state), status: state === 'ok' ? 200 : 499 };
    if (state === 'cancelled') record.code = 'request_cancelled';
    if (request.operation === 'chat') {
      const [input, output, source] = this.#tokensOf(running, report);
      const cost = costOf(request.model, input, output);
      record.tokens = [input, output, source];
      // The account's holds include that of this request.
      const available = account.balance - this.of(request.account).held;
      const left = this.#budgetLeft(request.account, running);
      const most = hold + leastOf([left, available]);
      const overrun = cost - most;
      record.cost = overrun > 0n ? most : cost;
      if (overrun > 0n) record.overrun = overrun;
      account.balance -= record.cost;
      for (const owner of budgetOwners) {
        const name = countName(owner, running);
        account.spent.set(name, (account.spent.get(name) ?? 0n) + record.cost);
      }
      if (record.cost > 0n) account.entries.set(id, { kind: 'debit', amount: -record.cost });
    } else {
      record.units = units;
      account.usedUnits.set(month, (account.usedUnits.get(month) ?? 0) + units);
    }
    this.#end(running, record, state === 'ok');
    return state === 'ok' ? 'answered' : 'request_cancelled';
  }

  #void(running: Running, state: string, code: string): Outcome {
    const { request, month, hasOutput } = running;
    const spent = state === 'refused' && hasOutput ? running.units : 0;
    const { usedUnits } = this.#accounts[request.account];
    if (spent > 0) usedUnits.set(month, (usedUnits.get(month) ?? 0) + spent);
    const units = request.operation === 'chat' ? undefined : spent;
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

  #tokensOf(
    { words, request, maxTokens = 0 }: Running,
    report: Report | undefined,
  ): [number, number, string] {
    const counted = this.#tokens.words(words);
    if (report && report.prompt > 0 && report.prompt <= chatTokens && report.completion >= 0) {
      const completion = report.completion + report.apart;
      const allowed = request.operation === 'chat' ? maxTokens * request.n : 0;
      const isPossible = completion <= allowed || completion <= counted;
      if (isPossible && (completion > 0 || words === 0)) return [report.prompt, completion, 'reported'];
    }
    return [this.#tokens.prompt, counted, 'estimated'];
  }

  /** Nano-credits that the budgets leave, beside those spent and held. */
  #budgetLeft(name: AccountName, periods: Pick<Running, 'month' | 'day'>): bigint {
    const counts = this.countsOf(name);
    const left = budgetOwners.map((owner) => {
      const { used = 0n, reserved = 0n } = counts.get(countName(owner, periods)) ?? {};
      return budgets[owner] - used - reserved;
    });
    return leastOf(left);
  }

  /** Nano-credits spent and held, by the owner of a budget and its period. */
  countsOf(name: AccountName): Map<string, { used: bigint; reserved: bigint }> {
    const { spent, running } = this.of(name);
    const counts = new Map([...spent].map(([count, used]) => [count, { used, reserved: 0n }]));
    for (const request of running) {
      for (const owner of budgetOwners) {
        const count = countName(owner, request);
        const { used, reserved } = counts.get(count) ?? { used: 0n, reserved: 0n };
        counts.set(count, { used, reserved: reserved + request.hold });
      }
    }
    return counts;
  }

  #limitOf({ plan, trialEndsMs }: ExpectedAccount): number | undefined {
    if (plan && plan.startsMs <= this.nowMs && this.nowMs < plan.endsMs) return planUnits;
    return this.nowMs < trialEndsMs ? trialUnits : undefined;
  }

  /** Units of a month, spent and set aside. */
  #units(name: AccountName, month: string): number {
    const { used = 0, reserved = 0 } = this.of(name).units.get(month) ?? {};
    return used + reserved;
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

/** The used and the reserved units of each month that has any, in order of the months. */
function unitsOf({ usedUnits }: ExpectedAccount, running: readonly Running[]) {
  const months = new Set([...usedUnits.keys(), ...running.map(({ month }) => month)]);
  const counts = [...months].sort().map((month) => {
    const set = running.filter((request) => request.month === month);
    const reserved = set.reduce((sum, { units }) => sum + units, 0);
    return [month, { used: usedUnits.get(month) ?? 0, reserved }] as const;
  });
  return new Map(counts.filter(([, { used, reserved }]) => used + reserved > 0));
}

function leastOf([first = 0n, ...others]: readonly bigint[]): bigint {
  let least = first;
  for (const one of others) if (one < least) least = one;
  return least;
}

const claimKey = ({ operation, idempotencyKey }: Request) => `${operation} ${idempotencyKey}`;

/** The fields that a repeated request must repeat. */
function fingerprintOf(request: Request): string {
  if (request.operation === 'transcription') return '';
  const isBad = request.flaw === 'bad field';
  if (request.operation === 'speech') return JSON.stringify([isBad, request.characters]);
  const { model, maxTokens, n } = request;
  return JSON.stringify([isBad || model, maxTokens, n]);
}

/** Streams of chat and transcription take no notice of the key. */
function isRepeatable(request: Request): boolean {
  return request.idempotencyKey !== undefined && (request.operation === 'speech' || !request.streamed);
}

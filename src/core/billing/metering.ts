/**
 * A request's usage record from start to end: reserve, run, then settle or void. A request ends exactly once, and the same write
 * spends or returns its reservation. A failed request debits nothing.
 */

import { type CountedAmount, fairUseCount, type UnitAmounts } from '../entities/count.ts';
import type { ClaimEnd, IdempotencyClaim } from '../entities/idempotency.ts';
import { ratedTokens } from '../entities/rates.ts';
import type { Hold, LimitReached, Reservation } from '../entities/reservation.ts';
import type { Store } from '../entities/store.ts';
import {
  answered,
  type RecordCause,
  type RecordEnd,
  type RecordedAttempt,
  type RecordedLimit,
  type RecordStart,
  type RequestObserver,
  type TokenUsage,
} from '../entities/usage.ts';
import { type Affordable, affordableCredits } from '../limits/affordable.ts';
import type { CallLimits } from '../limits/call-limits.ts';
import { limitError } from '../limits/refusals.ts';
import { bounds } from '../values/bounds.ts';
import type { Clock } from '../values/clock.ts';
import { type ParleyError, type ReachedLimit, toParleyError } from '../values/errors.ts';
import type { RequestId } from '../values/ids.ts';
import { type Labels, shortName, tagList } from '../values/labels.ts';
import type { Log } from '../values/log.ts';
import type { NanoCredits } from '../values/money.ts';
import type { EngineAttempt } from '../values/signal.ts';
import { andThen, type Soon } from '../values/soon.ts';
import type { Unsettled } from './unsettled.ts';

/** Characters of the model's name that a record keeps: a client may send anything. */
const modelNameMax = 200;

/** Limits that a shorter chat may keep. */
const bySize: ReadonlySet<LimitReached['unit']> = new Set(['balance', 'credits', 'tokens']);

export interface MeteringDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly unsettled: Unsettled;
  readonly observer: RequestObserver;
  /** Whether the catalog has a model of that id now. */
  isModel(id: string): boolean;
  /** Whether records keep end users and tags. */
  readonly keepsLabels: boolean;
}

/** The rights by which a request was admitted. */
export interface Rights {
  readonly policyVersion: bigint | undefined;
  /** Checks the current rights. @throws the refusal of the request, if they no longer suffice */
  renew(): Promise<Rights>;
}

export interface MeteringOptions {
  /** Undefined: no other program can change them. */
  readonly rights?: Rights | undefined;
  readonly limits?: CallLimits | undefined;
}

export class Metering {
  readonly used: Used = {};
  /** The engines that work on the request. */
  attempts: EngineAttempt[] = [];
  readonly #deps: MeteringDeps;
  readonly #limits: CallLimits | undefined;
  #start: RecordStart;
  #rights: Rights | undefined;
  #state: 'open' | 'reserved' | 'ended' = 'open';
  #units: number | undefined;
  /** The month's allowance of units. */
  #limitUnits = 0;
  #audioSeconds: number | undefined;
  #hold: NanoCredits | undefined;
  #claim: IdempotencyClaim | undefined;
  #answer: Uint8Array | undefined;
  #firstOutputMs: number | undefined;
  /** The model that works in place of the one that was asked for. */
  #answering: string | undefined;
  readonly #beganMs = performance.now();
  #isStream = false;
  /** The write of a stream's started record. */
  #started: Promise<void> | undefined;

  constructor(deps: MeteringDeps, start: RecordStart, { rights, limits }: MeteringOptions = {}) {
    this.#deps = deps;
    this.#rights = rights;
    this.#limits = limits;
    this.#start = start;
    deps.observer.began(start);
  }

  get id(): RequestId {
    return this.#start.id;
  }

  /** As the client named it, cut if it is very long. */
  get model(): string | undefined {
    return this.#answering ?? this.#start.model;
  }

  /** The model that answers, if it is not the one that was asked for. */
  get answering(): string | undefined {
    return this.#answering;
  }

  get hasOutput(): boolean {
    return this.#firstOutputMs !== undefined;
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Notes the requested model. The record names it if it is one of the catalog, or if the request is refused. */
  noteModel(name: string | undefined): void {
    const model = name?.slice(0, modelNameMax);
    if (model && model !== this.#start.model) this.#start = { ...this.#start, model };
  }

  /** Notes for whom and what the client sends the request. What was noted first stays. */
  noteLabels({ endUser, tags }: Labels): void {
    if (endUser) this.#limits?.noteEndUser(endUser);
    if (!this.#deps.keepsLabels) return;
    const start = this.#start;
    const named = start.endUser ?? (endUser && shortName(endUser, bounds.endUser));
    const listed = start.tags ?? (tags ? tagList(tags) : undefined);
    if (named || listed) this.#start = { ...start, endUser: named, tags: listed };
  }

  /** Notes the model that works on the reserved request now. @param model undefined for the one that was asked for */
  noteAnswering(model: string | undefined): void {
    this.#answering = model;
  }

  /** Checks that key and account may call the noted model. @throws `insufficient_scope` */
  checkModel(): void {
    if (this.#start.model !== undefined) this.#limits?.checkModel(this.#start.model);
  }

  /**
   * Reserves units, hold, tokens and counted amounts. Returns the limit that does not cover a chat, for which a smaller one may be planned;
   * for audio that is an error.
   * @throws `fair_use_limit_reached`, `insufficient_scope` for the model, `rate_limit_exceeded`
   */
  reserve(wanted: Wanted): Soon<LimitReached | undefined> {
    const { characters, fairUse, hold, tokens } = wanted;
    if (characters !== undefined) this.#start = { ...this.#start, characters };
    const limits = this.#limits;
    this.checkModel();
    const shortage = tokens === undefined ? undefined : limits?.reserveTokens(tokens);
    if (shortage) return shortage;
    this.#limitUnits = fairUse?.limitUnits ?? 0;
    const counted = this.#counted(wanted);
    const reserving = this.#reserve({ hold, counted, rates: limits?.wantedRates(tokens) });
    return andThen(reserving, (reached) =>
      reached ? this.#refused(reached, wanted) : this.#reserved(wanted),
    );
  }

  #refused(reached: LimitReached, { hold, tokens }: Wanted): LimitReached {
    if (tokens !== undefined) this.#limits?.useTokens(0);
    if (hold && bySize.has(reached.unit)) return reached;
    throw this.errorOf(reached);
  }

  #reserved({ fairUse, hold, audioSeconds }: Wanted): undefined {
    this.#state = 'reserved';
    this.#units = fairUse?.units;
    this.#audioSeconds = audioSeconds;
    this.#hold = hold?.amount;
    if (hold) this.#deps.observer.held(hold.amount);
    if (this.#isStream) this.#started = this.#deps.store.requests.started(this.id);
    // The failure is thrown where the output waits for it.
    this.#started?.catch(() => undefined);
  }

  /** Checks the rights of the caller again whenever they have changed meanwhile. */
  #reserve(reservation: Reservation): Soon<LimitReached | undefined> {
    const wanted = { ...reservation, policyVersion: this.#rights?.policyVersion };
    return andThen(this.#deps.store.requests.reserve(this.#start, wanted), (outcome) => {
      if (outcome.rates) this.#limits?.noteShared(outcome.rates);
      if (outcome.kind === 'limit_reached') return outcome;
      if (outcome.kind === 'reserved') return undefined;
      return this.#renew().then(() => this.#reserve(reservation));
    });
  }

  async #renew(): Promise<void> {
    this.#rights = await this.#rights?.renew();
  }

  /** The error of a request that does not fit into a limit. */
  errorOf(reached: LimitReached): ParleyError {
    const { startedAtMs } = this.#start;
    return limitError(reached, { startedAtMs, nowMs: this.#limits?.moveOn() ?? startedAtMs });
  }

  /** The most that a chat can reserve: the smallest of credits and budgets, and the tokens that the minute has left. */
  async affordable(available: NanoCredits): Promise<Affordable> {
    const limits = this.#limits;
    if (limits === undefined) return affordableCredits(available);
    const wanted = limits.countedAmounts({ credits: 1n }, this.#start.startedAtMs);
    const taken = await this.#deps.store.requests.taken(wanted);
    return limits.affordable(available, wanted, taken, this.#start.startedAtMs);
  }

  /** Raises the reserved units and seconds when audio becomes longer. @throws `fair_use_limit_reached`, `rate_limit_exceeded` */
  async extend(units: number, audioSeconds: number): Promise<void> {
    if (units <= (this.#units ?? 0) && audioSeconds <= (this.#audioSeconds ?? 0)) return;
    await this.reserveInstead(units, audioSeconds);
  }

  /** Reserves these units and seconds instead of those so far: fewer, where more were reserved ahead than are needed. */
  async reserveInstead(units: number, audioSeconds: number): Promise<void> {
    const counted = this.#counted({ fairUse: { units, limitUnits: this.#limitUnits }, audioSeconds });
    const reached = await this.#deps.store.requests.extend(this.id, counted);
    if (reached) throw this.errorOf(reached);
    this.#units = units;
    this.#audioSeconds = audioSeconds;
  }

  /** Marks the answer as streamed: then the started record is written while the engine works on the first part. */
  willStream(): void {
    this.#isStream = true;
  }

  /** Resolves when the started record of a stream is durable, so that a killed server leaves a record of its output. */
  async whenStarted(): Promise<void> {
    if (this.#state === 'reserved') await this.#started;
  }

  /** Attaches the claim on an Idempotency-Key. It ends in the same write as the request. */
  holdClaim(claim: IdempotencyClaim): void {
    this.#claim = claim;
  }

  /** Stores the answer under the claim when the request is settled. Without an answer the key is freed. */
  keepAnswer(answer: Uint8Array): void {
    this.#answer = answer;
  }

  /** Notes that the first output is about to leave, once the started record is durable. */
  async beginOutput(): Promise<void> {
    await this.whenStarted();
    this.#firstOutputMs ??= this.#elapsedMs();
  }

  /** Ends a successful request, perhaps one that a limit cut short, and spends its costs. If it rejects, nothing was spent. */
  settle(code?: 'deadline_exceeded'): Promise<void> {
    const end = this.#recordEnd({ state: 'ok', httpStatus: 200, code }, true);
    return this.#end(end, this.#claim && { claim: this.#claim, answer: this.#answer });
  }

  /**
   * Ends the request with an error and returns its reservation. Nothing is spent, unless the client left after some output: then
   * chat pays for the tokens produced, audio for all units reserved. Audio that is refused after some output pays the same, or a
   * recording whose end is refused would be transcribed for nothing. Does nothing if the request has ended.
   */
  async void(thrown: unknown): Promise<void> {
    if (this.#state === 'ended') return;
    const error = toParleyError(thrown);
    const cancelled = error.code === 'request_cancelled';
    const state = cancelled ? 'cancelled' : error.isRefusal ? 'refused' : 'failed';
    const isByClient = cancelled || (state === 'refused' && this.#units !== undefined);
    const end = this.#recordEnd(
      { state, httpStatus: error.httpStatus, code: error.code },
      isByClient && this.hasOutput,
      error.reached,
    );
    const start = this.#state === 'reserved' ? undefined : this.#startOf(end);
    const claim = this.#claim && { claim: this.#claim, answer: undefined };
    try {
      await this.#end(end, claim);
    } catch (reason) {
      this.#state = 'ended';
      this.#limits?.end(0);
      this.#deps.observer.ended(answered(this.#start, end), end, this.#hold);
      this.#deps.unsettled.add({ id: this.id, start, end, claim }, reason);
    }
  }

  /** Ends the request as a free replay of an earlier answer. */
  async replay(): Promise<void> {
    await this.#end(this.#recordEnd({ state: 'replayed', httpStatus: 200, code: undefined }, false));
  }

  async #end(end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    const was = this.#state;
    if (was === 'ended') throw new Error(`request ${this.id} was ended twice`);
    this.#state = 'ended';
    const { requests } = this.#deps.store;
    let recorded = end;
    try {
      if (was === 'reserved') recorded = await requests.settle(this.id, end, claim);
      else await requests.record(this.#startOf(end), { ...end, fairUseUnits: undefined }, claim);
    } catch (error) {
      this.#state = was;
      throw error;
    }
    this.#limits?.end(ratedTokens(recorded));
    this.#reportOverrun(recorded);
    this.#deps.observer.ended(answered(this.#start, recorded), recorded, this.#hold);
  }

  /** For a record without a reservation. Totals have the model of any request that is not refused, and stay for good. */
  #startOf({ state }: RecordEnd): RecordStart {
    const { model } = this.#start;
    const isKept = model === undefined || state === 'refused' || this.#deps.isModel(model);
    return isKept ? this.#start : { ...this.#start, model: undefined };
  }

  #counted({ fairUse, hold, characters, audioSeconds }: Wanted): readonly CountedAmount[] {
    const { accountId, startedAtMs } = this.#start;
    const amounts: UnitAmounts = {
      ...(hold && { credits: hold.amount }),
      ...(characters !== undefined && { characters: BigInt(characters) }),
      ...(audioSeconds !== undefined && { audio_seconds: BigInt(audioSeconds) }),
    };
    const limited = this.#limits?.countedAmounts(amounts, startedAtMs) ?? [];
    if (fairUse === undefined) return limited;
    const [amount, limit] = [BigInt(fairUse.units), BigInt(fairUse.limitUnits)];
    return [{ ...fairUseCount(accountId, startedAtMs), amount, limit }, ...limited];
  }

  #recordEnd(
    outcome: Pick<RecordEnd, 'state' | 'httpStatus' | 'code'>,
    spends: boolean,
    reached?: ReachedLimit,
  ): RecordEnd {
    const durationMs = this.#elapsedMs();
    const returnedUnits = spends ? undefined : this.#units;
    return {
      ...outcome,
      model: this.#answering,
      // A plain answer has its first output at its end.
      firstOutputMs: this.#firstOutputMs ?? (outcome.code === undefined ? durationMs : undefined),
      durationMs,
      audioMsIn: this.used.audioMsIn,
      audioMsOut: this.used.audioMsOut,
      tokens: this.used.tokens,
      fairUseUnits: spends ? this.#units : this.#units && 0,
      cost: spends ? this.used.cost : undefined,
      overrun: undefined,
      engine: this.attempts.at(-1)?.engine,
      reserved: this.#hold,
      cause: causeOf({ attempts: this.attempts, reached, returnedUnits }),
    };
  }

  /** The time since the start, also if the clock was set back meanwhile. */
  #elapsedMs(): number {
    const ms = this.#deps.clock.now() - this.#start.startedAtMs;
    return ms >= 0 ? ms : Math.round(performance.now() - this.#beganMs);
  }

  #reportOverrun({ cost, overrun }: RecordEnd): void {
    if (overrun === undefined) return;
    this.#deps.log.warn(
      { requestId: this.id, hold: String(this.#hold), debit: String(cost), overrun: String(overrun) },
      'the cost exceeds the hold, the available credits and the budgets',
    );
  }
}

/** The amounts that a request reserves before it runs. */
interface Wanted {
  readonly characters?: number;
  /** Units of fair use, and the month's allowance; undefined if the operation spends none. */
  readonly fairUse?: { readonly units: number; readonly limitUnits: number };
  readonly hold?: Hold;
  /** Seconds of audio to transcribe, if known. */
  readonly audioSeconds?: number;
  /** The most tokens that a chat can use. */
  readonly tokens?: number;
}

/** Usage so far. Operations update it as they run, so that a request that ends early can be settled, too. */
interface Used {
  audioMsIn?: number | undefined;
  audioMsOut?: number | undefined;
  tokens?: TokenUsage | undefined;
  /** The cost of the tokens, even if it exceeds the hold. */
  cost?: NanoCredits | undefined;
}

interface Facts {
  readonly attempts: readonly EngineAttempt[];
  readonly reached: ReachedLimit | undefined;
  /** Units of fair use that were reserved and not spent. */
  readonly returnedUnits: number | undefined;
}

/** Engines that a record keeps. */
const attemptsMax = 16;

/** Undefined if there is nothing to say, as for most requests. */
export function causeOf({ attempts, reached, returnedUnits }: Facts): RecordCause | undefined {
  const hasFailed = attempts.some(({ error }) => error !== undefined);
  if (!hasFailed && reached === undefined && !returnedUnits) return undefined;
  const isMixed = attempts.some(({ model }) => model !== attempts[0]?.model);
  return {
    ...(hasFailed && { attempts: attempts.slice(-attemptsMax).map((attempt) => recorded(attempt, isMixed)) }),
    ...(reached && { limit: limitOf(reached) }),
    ...(returnedUnits && { returnedUnits }),
  };
}

/** @param isMixed whether attempts were for several models */
function recorded(
  { engine, model, error, firstOutputMs, durationMs }: EngineAttempt,
  isMixed: boolean,
): RecordedAttempt {
  return {
    engine,
    model: isMixed ? model : undefined,
    code: error?.code,
    upstreamStatus: error?.upstream?.status,
    upstreamCode: error?.upstream?.code,
    firstOutputMs: firstOutputMs && Math.round(firstOutputMs),
    durationMs: durationMs && Math.round(durationMs),
  };
}

const ownerKinds: Readonly<Record<string, RecordedLimit['owner']>> = { key_: 'key', usr_: 'end_user' };

function limitOf({ owner, unit, period, amount, limit, taken }: ReachedLimit): RecordCause['limit'] {
  return {
    owner: ownerKinds[owner.slice(0, 4)] ?? 'account',
    unit,
    ...(period !== undefined && { period }),
    amount,
    limit,
    taken,
  };
}

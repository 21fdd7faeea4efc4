/** The checks made on every request before its body is read: the key, its scope, the subscription. */

import { isDeepStrictEqual } from 'node:util';
import { Metering, type MeteringDeps, type MeteringOptions, type Rights } from '../billing/metering.ts';
import { type AccountFacts, entitlementAt, isEntitled, isSuspended } from '../entities/account.ts';
import {
  type AdminScope,
  hasAdminScope,
  type Key,
  type KeyHolder,
  type Scope,
  scopes,
} from '../entities/key.ts';
import type { Rates } from '../entities/rates.ts';
import type { Store } from '../entities/store.ts';
import type { Operation, RecordStart, Wire } from '../entities/usage.ts';
import { type CallLimits, callLimits } from '../limits/call-limits.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';
import { newRequestId, type RequestId } from '../values/ids.ts';
import type { Labels } from '../values/labels.ts';
import type { Signal } from '../values/signal.ts';
import { andThen, type Soon } from '../values/soon.ts';
import { type AuthDeps, authenticate } from './auth.ts';
import type { AdminCall, Call, Caller, Turns } from './call.ts';
import type { FailedKeys } from './failed-keys.ts';
import { type Accepted, acceptInvitation } from './invitations.ts';

/** The plan includes speech and transcription. Chat is paid from credits and needs no plan. */
const includedInPlan: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription']);

/** @throws `insufficient_scope` without the operation's scope; `subscription_required` without a plan that includes it */
function checkAllowed(caller: Caller, operation: Operation): void {
  if (isScope(operation) && !caller.scopes.includes(operation)) {
    throw new ParleyError('insufficient_scope', {
      message: `This API key does not have the scope \`${operation}\`.`,
    });
  }
  if (includedInPlan.has(operation) && !isEntitled(caller.entitlement)) {
    throw new ParleyError('subscription_required');
  }
}

const scopeNames: ReadonlySet<string> = new Set(scopes);

function isScope(operation: Operation): operation is Scope {
  return scopeNames.has(operation);
}

/** The sender of a request, as the connection shows it. */
export interface Client {
  /** Address without a port. Behind a trusted proxy, the address that the proxy names. */
  readonly address: string;
  /** Records that a request had a valid key. */
  readonly noteKey: () => void;
}

/** The sender of a request, and the key that it sent. */
interface Credentials {
  readonly wire: Wire;
  /** The `Authorization` header as received. */
  readonly authorization: string | undefined;
  readonly client: Client;
  /** Headers with the limits of key and account go on every answer, also on a refusal. */
  readonly answer?: { limits: CallLimits | undefined };
}

/** A request for an admin path, or for a path that is not served. */
interface AdminRequest extends Credentials {
  readonly id: RequestId;
}

interface IncomingRequest extends AdminRequest {
  readonly operation: Operation;
  /** Aborts with a ParleyError as its reason. */
  readonly signal: Signal;
  /** The `Idempotency-Key` header as received. */
  readonly idempotencyKey: string | undefined;
  /** The end user and the tags that headers name. Default: none. */
  readonly labels?: Labels | undefined;
}

/** Requests within a session have its place among the concurrent ones. */
type SessionPart = 'session' | 'turn' | 'response';

export interface GateDeps extends MeteringDeps, AuthDeps {
  readonly store: Store;
  readonly failedKeys: FailedKeys;
  readonly rates: Rates;
  readonly endUsersMax: number;
}

export class Gate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /**
   * Opens a call. Records the refusal of an account's key before throwing it.
   * @throws in this order: `invalid_api_key` (`rate_limit_exceeded` after too many of them), `account_suspended`,
   * `insufficient_scope`, `subscription_required`, `rate_limit_exceeded` of the key or the account
   * @param part undefined for a request of its own
   */
  open(arrival: IncomingRequest, part?: SessionPart): Soon<Call> {
    const startedAtMs = this.#deps.clock.now();
    return andThen(this.#authenticate(arrival), (holder) => this.#admit(holder, arrival, startedAtMs, part));
  }

  /** Opens a session, whose turns ask the gate again with the same key. @throws as `open` does */
  async openSession(arrival: IncomingRequest): Promise<Call> {
    const { clock } = this.#deps;
    const turnOf = () => ({ ...arrival, id: newRequestId(clock.now()), idempotencyKey: undefined });
    const turns: Turns = {
      open: async (request) => this.open({ ...turnOf(), ...request }, request ? 'response' : 'turn'),
      noteRecognised: (delayMs) => this.#deps.observer.recognised(delayMs),
      checkAgain: () => this.#checkAgain(arrival),
    };
    return { ...(await this.open(arrival, 'session')), turns };
  }

  async #checkAgain({ authorization, operation }: IncomingRequest): Promise<void> {
    const { key, account } = await authenticate(this.#deps, authorization);
    if (account === undefined) throw new ParleyError('invalid_api_key');
    if (isSuspended(account)) throw new ParleyError('account_suspended');
    checkAllowed(this.#callerOf(key, account), operation);
  }

  #admit(
    holder: KeyHolder,
    arrival: IncomingRequest,
    startedAtMs: number,
    part: SessionPart | undefined,
  ): Soon<Call> {
    const { id, operation, wire, authorization, signal, idempotencyKey } = arrival;
    const { key, account } = holder;
    const limits = this.#limitsOf(holder);
    if (limits && arrival.answer) arrival.answer.limits = limits;
    const rights = holder.policyVersion === undefined ? undefined : this.#rightsOf(holder, arrival);
    const live = liveOf(part, operation);
    const metering = this.#meteringOf(holder, arrival, startedAtMs, { live, rights, limits });
    if (account === undefined || metering === undefined) {
      throw new ParleyError('insufficient_scope', {
        message: 'This is an admin key. Use an API key of an account for this path.',
      });
    }
    if (arrival.labels) metering.noteLabels(arrival.labels);
    const caller = this.#callerOf(key, account, limits);
    try {
      if (isSuspended(account)) throw new ParleyError('account_suspended');
      limits?.checkAddress(arrival.client.address);
      checkAllowed(caller, operation);
      limits?.begin(operation, part === 'turn' || part === 'response');
    } catch (error) {
      return metering.void(error).then(() => {
        throw error;
      });
    }
    const asked = {
      id,
      operation,
      wire,
      authorization,
      signal,
      idempotencyKey,
      caller,
      startedAtMs,
      metering,
    };
    return { ...asked, requestBytes: 0, answerForm: undefined, isReplay: false, turns: undefined };
  }

  #callerOf(key: Key, account: AccountFacts, limits?: CallLimits): Caller {
    const entitlement = entitlementAt(account.subscription, this.#deps.accessClock.now());
    const { id: keyId, name: keyName, person, scopes } = key;
    return { keyId, keyName, person: person?.label, account, scopes, entitlement, limits };
  }

  /** The rights of a request. Key, plan, trial and limits may change before it is admitted. */
  #rightsOf(holder: KeyHolder, arrival: IncomingRequest): Rights {
    const { policyVersion, account } = holder;
    const renew = async (): Promise<Rights> => {
      const next = await authenticate(this.#deps, arrival.authorization);
      if (account === undefined || next.account === undefined) throw new ParleyError('invalid_api_key');
      if (isSuspended(next.account)) throw new ParleyError('account_suspended');
      const caller = this.#callerOf(next.key, next.account);
      checkAllowed(caller, arrival.operation);
      if (!hasSameLimits(next, holder)) throw rightsChanged();
      // The month's limit depends on the plan.
      const isKept = caller.entitlement.state === this.#callerOf(holder.key, account).entitlement.state;
      if (!isKept && includedInPlan.has(arrival.operation)) throw rightsChanged();
      return this.#rightsOf(next, arrival);
    };
    return { policyVersion, renew };
  }

  /**
   * Finds the holder of a key that signs in to the console. Leaves no record, as it serves no request.
   * @throws `invalid_api_key` or `rate_limit_exceeded`
   */
  async identify(arrival: AdminRequest): Promise<KeyHolder> {
    return this.#authenticate(arrival);
  }

  /**
   * Exchanges an invitation for its key. A wrong one counts as a failed key does.
   * @throws `invalid_api_key` or `rate_limit_exceeded`; as `acceptInvitation`
   */
  async accept(arrival: AdminRequest, kinds: readonly Key['kind'][]): Promise<Accepted> {
    try {
      return await acceptInvitation(this.#deps, arrival.authorization, kinds);
    } catch (error) {
      return this.#refuse(arrival, error);
    }
  }

  /**
   * Opens an admin call. Records the refusal of an account's key before throwing it.
   * @param scope the scope that an admin key with scopes needs
   * @throws `invalid_api_key` or `rate_limit_exceeded`; `insufficient_scope` for an account's key, and for an admin key
   * without this scope
   */
  async openAdmin(arrival: AdminRequest, scope: AdminScope): Promise<AdminCall> {
    const startedAtMs = this.#deps.clock.now();
    const holder = await this.#authenticate(arrival);
    if (holder.key.kind === 'admin') {
      const { store, givenAdmin } = this.#deps;
      // No call waits for it or fails by it: a disk that fails is reported by its own checks.
      if (holder !== givenAdmin) store.keys.noteUse(holder.key.id, startedAtMs).catch(() => undefined);
      return adminCall(holder.key, scope);
    }
    const error = new ParleyError('insufficient_scope', { message: 'Admin calls need an admin key.' });
    await this.#meteringOf(holder, { ...arrival, operation: 'admin' }, startedAtMs)?.void(error);
    throw error;
  }

  /**
   * Records a request for a path or method that is not served, if its key is valid and belongs to an account. The
   * answer is the same for any key, so an invalid key does not count as a failure.
   */
  async recordUnserved(arrival: AdminRequest, error: ParleyError): Promise<void> {
    const startedAtMs = this.#deps.clock.now();
    try {
      const holder = await authenticate(this.#deps, arrival.authorization);
      arrival.client.noteKey();
      await this.#meteringOf(holder, { ...arrival, operation: 'none' }, startedAtMs)?.void(error);
    } catch (reason) {
      if (toParleyError(reason).code !== 'invalid_api_key') throw reason;
    }
  }

  /** Begins the record of a request; undefined for an admin key, which belongs to no account. */
  #meteringOf(
    { key, account }: KeyHolder,
    { id, operation, wire }: Pick<RecordStart, 'id' | 'operation' | 'wire'>,
    startedAtMs: number,
    options: MeteringOptions & Pick<RecordStart, 'live'> = {},
  ): Metering | undefined {
    if (account === undefined) return undefined;
    const { live } = options;
    const facts = { id, accountId: account.id, keyId: key.id, operation, wire, startedAtMs, live };
    return new Metering(this.#deps, { ...facts, model: undefined, characters: undefined }, options);
  }

  #limitsOf({ key, account }: KeyHolder): CallLimits | undefined {
    if (account === undefined) return undefined;
    const { rates, accessClock: clock, endUsersMax } = this.#deps;
    return callLimits({ rates, clock, endUsersMax }, key, account);
  }

  #authenticate(credentials: Credentials): Soon<KeyHolder> {
    const noted = (holder: KeyHolder) => {
      credentials.client.noteKey();
      return holder;
    };
    try {
      const holder = authenticate(this.#deps, credentials.authorization);
      if (!(holder instanceof Promise)) return noted(holder);
      return holder.then(noted, (error: unknown) => this.#refuse(credentials, error));
    } catch (error) {
      return this.#refuse(credentials, error);
    }
  }

  async #refuse({ wire, client }: Credentials, error: unknown): Promise<never> {
    if (toParleyError(error).code === 'invalid_api_key') {
      this.#deps.observer.refusedKey(wire);
      await this.#deps.failedKeys.note(client.address);
    }
    throw error;
  }
}

/** The requests of a session of speech are no longer than others. */
function liveOf(part: SessionPart | undefined, operation: Operation): RecordStart['live'] {
  if (part === 'session') return 'session';
  return part === 'turn' && operation === 'transcription' ? 'turn' : undefined;
}

function adminCall(key: Key, scope: AdminScope): AdminCall {
  const actor = key.person?.label ?? key.id;
  if (key.scopes.length === 0) return { actor };
  if (hasAdminScope(key, scope)) return { actor, scopedKey: key };
  throw new ParleyError('insufficient_scope', {
    message: `This admin key does not have the scope \`${scope}\`.`,
  });
}

function hasSameLimits(one: KeyHolder, other: KeyHolder): boolean {
  return (
    isDeepStrictEqual(one.key.limits, other.key.limits) &&
    isDeepStrictEqual(one.account?.limits, other.account?.limits)
  );
}

function rightsChanged(): ParleyError {
  const message = 'The plan or the limits changed during the request. Send it again.';
  return new ParleyError('overloaded', { message, retryAfterSeconds: 1 });
}

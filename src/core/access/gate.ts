/** The checks that every request passes before its body is read: the key, its scope, the subscription. */
import { Metering, type MeteringDeps } from '../billing/metering.ts';
import type { AdminCall, Call, Caller } from '../call.ts';
import { ParleyError, toParleyError } from '../errors.ts';
import type { RequestId } from '../ids.ts';
import { type KeyHolder, type Scope, scopes } from '../ports/keys.ts';
import type { Operation, Wire } from '../ports/usage.ts';
import { authenticate } from './auth.ts';
import { entitlementAt, isEntitled } from './entitlement.ts';
import type { FailedKeys } from './failed-keys.ts';

/** The sender of a request, as its connection and headers show it. */
interface Credentials {
  readonly wire: Wire;
  /** The `Authorization` header as it came. */
  readonly authorization: string | undefined;
  /** The client's address, without a port. */
  readonly address: string;
}

interface IncomingRequest extends Credentials {
  readonly id: RequestId;
  readonly operation: Operation;
  /** Aborts with a ParleyError as its reason. */
  readonly signal: AbortSignal;
  /** The `Idempotency-Key` header as it came. */
  readonly idempotencyKey: string | undefined;
}

/** The plan includes speech and transcription. Chat is paid from credits and needs no plan. */
const includedInPlan: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription']);

export interface GateDeps extends MeteringDeps {
  readonly failedKeys: FailedKeys;
}

export class Gate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /**
   * Opens a call. If the key is valid, a refusal is recorded before it is thrown.
   * @throws `invalid_api_key` or `rate_limit_exceeded`, `insufficient_scope` or `subscription_required`, in this order
   */
  async open(arrival: IncomingRequest): Promise<Call> {
    const { id, operation, wire, signal, idempotencyKey } = arrival;
    const startedAtMs = this.#deps.clock.now();
    const { key, account } = await this.#authenticate(arrival);
    if (account === undefined) {
      throw new ParleyError('insufficient_scope', {
        message: 'This is an admin key. Use an API key of an account for this path.',
      });
    }
    const entitlement = entitlementAt(account.subscription, startedAtMs);
    const caller: Caller = { keyId: key.id, account, scopes: key.scopes, entitlement };
    const metering = new Metering(this.#deps, {
      id,
      accountId: account.id,
      keyId: key.id,
      operation,
      wire,
      startedAtMs,
      model: undefined,
      characters: undefined,
    });
    try {
      checkAllowed(caller, operation);
    } catch (error) {
      await metering.void(error);
      throw error;
    }
    const unread = { requestBytes: 0, answerForm: undefined, isReplay: false };
    return { id, operation, wire, signal, idempotencyKey, caller, startedAtMs, metering, ...unread };
  }

  /** @throws `invalid_api_key` or `rate_limit_exceeded`; `insufficient_scope` for an account's key */
  async openAdmin(credentials: Credentials): Promise<AdminCall> {
    const { key } = await this.#authenticate(credentials);
    if (key.kind !== 'admin') {
      throw new ParleyError('insufficient_scope', { message: 'Admin calls need an admin key.' });
    }
    return { actor: key.id };
  }

  async #authenticate({ wire, authorization, address }: Credentials): Promise<KeyHolder> {
    const { store, clock, observer, failedKeys } = this.#deps;
    try {
      return await authenticate(store, clock, authorization);
    } catch (error) {
      if (toParleyError(error).code !== 'invalid_api_key') throw error;
      observer.refusedKey(wire);
      await failedKeys.note(address);
      throw error;
    }
  }
}

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

function isScope(operation: Operation): operation is Scope {
  return scopes.some((scope) => scope === operation);
}

/** The checks that every request passes before its body is read: the key, its scope, the subscription. */
import { authenticate } from './auth.ts';
import type { AdminCall, Call, Caller } from './call.ts';
import { entitlementAt, isEntitled } from './entitlement.ts';
import { ParleyError } from './errors.ts';
import type { RequestId } from './ids.ts';
import { Metering, type MeteringDeps } from './metering.ts';
import { type Operation, type Scope, scopes, type Wire } from './ports/store.ts';

export interface Arrival {
  readonly id: RequestId;
  readonly operation: Operation;
  readonly wire: Wire;
  /** The `Authorization` header as it came. */
  readonly authorization: string | undefined;
  /** Aborts with a ParleyError as its reason. */
  readonly signal: AbortSignal;
  /** The `Idempotency-Key` header as it came. */
  readonly idempotencyKey: string | undefined;
}

/** Speech and transcription are included in the plan; chat is paid from credits and needs none. */
const includedInPlan: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription']);

export class Gate {
  readonly #deps: MeteringDeps;

  constructor(deps: MeteringDeps) {
    this.#deps = deps;
  }

  /**
   * Admits a request up to its body. A refusal of a valid key is recorded before it is thrown.
   * @throws `invalid_api_key`, `insufficient_scope` or `subscription_required`, in this order
   */
  async open(arrival: Arrival): Promise<Call> {
    const { store, clock } = this.#deps;
    const { authorization, ...known } = arrival;
    const startedAtMs = clock.now();
    const { key, account } = await authenticate(store, clock, authorization);
    if (account === undefined) {
      throw new ParleyError('insufficient_scope', {
        message: 'This is an admin key. Use an API key of an account for this path.',
      });
    }
    const entitlement = entitlementAt(account.subscription, startedAtMs);
    const caller: Caller = { keyId: key.id, account, scopes: key.scopes, entitlement };
    const metering = new Metering(this.#deps, {
      id: arrival.id,
      accountId: account.id,
      keyId: key.id,
      operation: arrival.operation,
      wire: arrival.wire,
      startedAtMs,
      model: undefined,
      characters: undefined,
    });
    try {
      checkAllowed(caller, arrival.operation);
    } catch (error) {
      await metering.fail(error);
      throw error;
    }
    const unread = { requestBytes: 0, answerForm: undefined, isReplay: false };
    return { ...known, caller, startedAtMs, metering, ...unread };
  }

  /** @throws `invalid_api_key`; `insufficient_scope` for an account's key */
  async openAdmin(authorization: string | undefined): Promise<AdminCall> {
    const { store, clock } = this.#deps;
    const { key } = await authenticate(store, clock, authorization);
    if (key.kind !== 'admin') {
      throw new ParleyError('insufficient_scope', { message: 'Admin calls need an admin key.' });
    }
    return { actor: key.id };
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

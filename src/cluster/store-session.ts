import type { RequestId } from '../core/ids.ts';
import type { AnswerClaim, LeftOpen, Store } from '../core/ports/store.ts';
import { type StoreOperations, storeOperations } from './remote-store.ts';

type HolderChange =
  | 'createAccount'
  | 'startTrial'
  | 'setPlan'
  | 'endSubscription'
  | 'createKey'
  | 'rotateKey'
  | 'revokeKey';

/** The operations of a store for one other process, with what that process has begun and not ended. */
export class StoreSession {
  readonly operations: StoreOperations;
  readonly #store: Store;
  readonly #requests = new Set<RequestId>();
  readonly #claims = new Map<RequestId, AnswerClaim>();
  readonly #running = new Set<Promise<unknown>>();

  /** @param forgetHolders resolves when no process believes any more what it knew of keys */
  constructor(store: Store, forgetHolders: () => Promise<void>) {
    this.#store = store;
    this.operations = { ...this.#all(), ...this.#changing(forgetHolders), ...this.#noting() };
  }

  /**
   * What the process has left open once it is gone. Writes that it has asked for are not lost with it: they end first.
   * To be called when no more of its calls can come.
   */
  async left(): Promise<LeftOpen> {
    await Promise.allSettled(this.#running);
    return { requests: [...this.#requests], claims: [...this.#claims.values()] };
  }

  #all(): StoreOperations {
    const store = this.#store;
    const bound = storeOperations.map((name) => [name, store[name].bind(store)]);
    return Object.fromEntries(bound) as StoreOperations;
  }

  /** The operations that change who holds a key or what such a holder may do. They are acknowledged when the others know of it. */
  #changing(forgetHolders: () => Promise<void>): Pick<StoreOperations, HolderChange> {
    const store = this.#store;
    const known = async <T>(change: Promise<T>): Promise<T> => {
      const result = await change;
      await forgetHolders();
      return result;
    };
    return {
      createAccount: (...change) => known(store.createAccount(...change)),
      startTrial: (...change) => known(store.startTrial(...change)),
      setPlan: (...change) => known(store.setPlan(...change)),
      endSubscription: (...change) => known(store.endSubscription(...change)),
      createKey: (...change) => known(store.createKey(...change)),
      rotateKey: (...change) => known(store.rotateKey(...change)),
      revokeKey: (...change) => known(store.revokeKey(...change)),
    };
  }

  /** The operations that begin or end something. */
  #noting(): Pick<StoreOperations, 'admit' | 'claimAnswer' | 'finish' | 'record'> {
    const store = this.#store;
    return {
      admit: (record, reservation) =>
        this.#run(store.admit(record, reservation), (outcome) => {
          if (outcome === 'admitted') this.#requests.add(record.id);
        }),
      claimAnswer: (claim) =>
        this.#run(store.claimAnswer(claim), ({ kind }) => {
          if (kind === 'claimed') this.#claims.set(claim.requestId, claim);
        }),
      finish: (id, end, claim) =>
        this.#run(store.finish(id, end, claim), () => {
          this.#requests.delete(id);
          if (claim) this.#claims.delete(id);
        }),
      record: (start, end, claim) =>
        this.#run(store.record(start, end, claim), () => {
          if (claim) this.#claims.delete(start.id);
        }),
    };
  }

  /** @param note what the end of the operation changes; noted before anybody is told of it */
  #run<T>(operation: Promise<T>, note: (result: T) => void): Promise<T> {
    const noted = operation.then((result) => {
      note(result);
      return result;
    });
    const running = noted.catch(() => undefined).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return noted;
  }
}

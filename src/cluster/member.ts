import type { Store } from '../core/ports/store.ts';
import { Calls, callable } from './calls.ts';
import type { Fork } from './fork.ts';
import { type LeaderServices, type Started, type Worker, workerCalls } from './roles.ts';
import { fromSent, type SentError } from './sent-error.ts';
import { StoreSession } from './store-session.ts';

export interface MemberDeps<Settings> {
  readonly store: Store;
  readonly services: LeaderServices;
  /** Those of the moment. */
  readonly settings: () => Settings;
}

export interface MemberPlace {
  readonly slot: number;
  readonly fork: Fork;
  /** Resolves when no worker believes any more what it knew of keys. */
  readonly forgetHolders: () => Promise<void>;
}

/** A worker as its leader sees it, from its fork to its end. */
export class Member<Settings> {
  readonly slot: number;
  readonly fork: Fork;
  readonly worker: Worker<Settings>;
  readonly session: StoreSession;
  /** Rejects where the worker cannot start or ends before. */
  readonly ready: Promise<Started>;
  /** Resolves with the reason when it is gone and nothing more comes from it. */
  readonly gone: Promise<string>;
  /** What it runs on, once it has asked for it. */
  settings: Settings | undefined;
  isReady = false;
  isGone = false;

  constructor({ slot, fork, forgetHolders }: MemberPlace, deps: MemberDeps<Settings>) {
    const { store, services, settings } = deps;
    this.slot = slot;
    this.fork = fork;
    this.session = new StoreSession(store, forgetHolders);
    const { promise, resolve, reject } = Promise.withResolvers<Started>();
    // Who waits for it hears of a failure; while nobody does, its end tells.
    promise.catch(() => undefined);
    this.ready = promise;
    const calls = new Calls(fork.channel, {
      ...this.session.operations,
      ...services,
      join: async () => {
        this.settings = settings();
        return { slot, settings: this.settings };
      },
      ready: async (started: Started) => {
        this.isReady = true;
        resolve(started);
      },
      failed: async (error: SentError) => reject(fromSent(error)),
    });
    this.worker = callable<Worker<Settings>>(calls, workerCalls);
    this.gone = fork.gone.then((reason) => {
      this.isGone = true;
      this.isReady = false;
      const error = new Error(`A worker has ended (${reason}).`);
      reject(error);
      calls.close(error);
      return reason;
    });
  }
}

import type { StoreObserver } from '../../../core/entities/store.ts';

/** Records whether the database answers, and reports each change. */
export class Health {
  readonly #observer: StoreObserver;
  #isFailing = false;

  constructor(observer: StoreObserver) {
    this.#observer = observer;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  failed(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#observer.failing('unreachable', error);
  }

  succeeded(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#observer.working();
  }
}

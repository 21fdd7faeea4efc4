/** Number of unused values that stay in memory. */
const idleMax = 10_000;

/** A value and the number of its users. */
export interface Shared<Value> {
  readonly value: Value;
  users: number;
}

/** Values that running requests share. Each is read at its first use, and stays in memory while it has users. */
export class InUse<Key, Value> {
  readonly #read: (key: Key) => Value;
  readonly #values = new Map<Key, Shared<Value>>();
  #sizeMax = idleMax;

  constructor(read: (key: Key) => Value) {
    this.#read = read;
  }

  /** The value, if it is in memory. */
  peek(key: Key): Value | undefined {
    return this.#values.get(key)?.value;
  }

  get(key: Key): Value {
    return this.shared(key).value;
  }

  /** Adds a user. Each must `release` the value once. */
  use(key: Key): void {
    this.shared(key).users++;
  }

  release(key: Key): void {
    const shared = this.#values.get(key);
    if (shared) shared.users--;
  }

  /** The value with its users. It stays the same while it has some. */
  shared(key: Key): Shared<Value> {
    let shared = this.#values.get(key);
    if (shared === undefined) {
      shared = { value: this.#read(key), users: 0 };
      this.#values.set(key, shared);
    }
    return shared;
  }

  /** Drops unused values if there are too many. Values that were read before must be looked up again. */
  trim(): void {
    if (this.#values.size <= this.#sizeMax) return;
    for (const [key, { users }] of this.#values) if (users === 0) this.#values.delete(key);
    this.#sizeMax = this.#values.size + idleMax;
  }
}

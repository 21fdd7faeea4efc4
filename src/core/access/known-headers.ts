/** Keys have 60 characters, and `Bearer ` before them has 7. */
const headerCharactersMax = 80;
/** These headers take about 3 MB. */
const headersMax = 10_000;

/**
 * The hashes of keys by the `Authorization` headers that carried them, so that a client's next request need not be
 * parsed and hashed again. The store still decides each time whether a key is valid.
 */
export class KnownHeaders {
  readonly #hashes = new Map<string, string>();

  hashOf(authorization: string): string | undefined {
    return this.#hashes.get(authorization);
  }

  /** Call only for valid keys, as others would displace the keys of clients. */
  add(authorization: string, hash: string): void {
    if (authorization.length > headerCharactersMax) return;
    if (this.#hashes.size >= headersMax) this.#hashes.clear();
    this.#hashes.set(authorization, hash);
  }
}

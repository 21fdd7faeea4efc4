/** Keys have 60 characters and the word before them 7. */
const headerCharactersMax = 80;
/** They take about 3 MB. */
const headersMax = 10_000;

/**
 * The hashes of keys by the `Authorization` headers that carried them, so that a client's next request need not be parsed and hashed
 * anew. Whether a key is valid is asked of the store each time.
 */
export class KnownHeaders {
  readonly #hashes = new Map<string, string>();

  hashOf(authorization: string): string | undefined {
    return this.#hashes.get(authorization);
  }

  /** Call it for a valid key alone: others would push out those of clients. */
  add(authorization: string, hash: string): void {
    if (authorization.length > headerCharactersMax) return;
    if (this.#hashes.size >= headersMax) this.#hashes.clear();
    this.#hashes.set(authorization, hash);
  }
}

/** Memory for speech that waits for an engine, counted over all sessions. */

/** Bytes of all accounts together: about an hour of speech. One account may have a quarter. */
const bytesMax = 128 * 1024 ** 2;
const bytesOfAccountMax = bytesMax / 4;

const bytesByAccount = new Map<string, number>();
let allBytes = 0;

/** The part of one turn. */
export class KeptSpeech {
  readonly #account: string;
  #bytes = 0;

  constructor(account: string | undefined) {
    this.#account = account ?? '';
  }

  /** @returns whether there is room; else nothing is counted */
  add(bytes: number): boolean {
    const own = bytesByAccount.get(this.#account) ?? 0;
    if (allBytes + bytes > bytesMax || own + bytes > bytesOfAccountMax) return false;
    this.#count(bytes);
    return true;
  }

  /** @param bytes Default: all */
  remove(bytes = this.#bytes): void {
    this.#count(-bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    allBytes += bytes;
    const own = (bytesByAccount.get(this.#account) ?? 0) + bytes;
    if (own > 0) bytesByAccount.set(this.#account, own);
    else bytesByAccount.delete(this.#account);
  }
}

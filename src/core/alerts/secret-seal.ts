/** Secrets of destinations in the form in which the database stores them. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { AccountId } from '../values/ids.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** Prefix of a sealed secret. */
const sealedPrefix = 'sealed_';

/**
 * Seals secrets with the configured key, which the database does not have, so that a stolen database or backup reveals
 * none. Without a key, secrets are stored as they are. Each is bound to its account.
 */
export class SecretSeal {
  readonly #key: string | undefined;

  constructor(key: string | undefined) {
    this.#key = key;
  }

  seal(secret: string, accountId: AccountId): string {
    if (this.#key === undefined) return secret;
    const nonce = randomBytes(nonceBytes);
    const sealing = createCipheriv(cipher, sealingKey(this.#key, accountId), nonce);
    const content = Buffer.concat([sealing.update(secret), sealing.final()]);
    return sealedPrefix + Buffer.concat([nonce, content, sealing.getAuthTag()]).toString('base64url');
  }

  /** Undefined if another key sealed the secret. A secret stored before there was a key is returned unchanged. */
  open(sealed: string, accountId: AccountId): string | undefined {
    if (!sealed.startsWith(sealedPrefix)) return sealed;
    if (this.#key === undefined) return undefined;
    const bytes = Buffer.from(sealed.slice(sealedPrefix.length), 'base64url');
    const opening = createDecipheriv(cipher, sealingKey(this.#key, accountId), bytes.subarray(0, nonceBytes));
    opening.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const secret = Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]);
      return secret.toString();
    } catch {
      return undefined;
    }
  }
}

function sealingKey(key: string, accountId: AccountId): Buffer {
  return Buffer.from(hkdfSync('sha256', key, accountId, 'parley webhook secret', 32));
}

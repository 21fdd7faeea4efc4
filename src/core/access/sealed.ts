/** Seals texts by AES-256-GCM, each under a key of its own: derived from a secret for one owner and one purpose. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Key } from '../entities/key.ts';
import type { AccountId } from '../values/ids.ts';
import { hashKey } from '../values/key-secret.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** @returns letters and digits of base64url */
function encrypted(text: string, key: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, key, nonce);
  const content = Buffer.concat([sealing.update(text), sealing.final()]);
  return Buffer.concat([nonce, content, sealing.getAuthTag()]).toString('base64url');
}

/** Undefined unless the text was encrypted with this key. */
function decrypted(text: string, key: Buffer): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length <= nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes));
  opening.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const parts = [opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()];
    return Buffer.concat(parts).toString();
  } catch {
    return undefined;
  }
}

function derivedKey(secret: string, owner: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, owner, purpose, 32));
}

type SealingKey = Pick<Key, 'id' | 'hash'>;
type Purpose = 'parley console session' | 'parley client secret';

/**
 * Seals what stands for a key, under the key's stored hash. The content has the key, so a stolen database cannot make it, and what is
 * sealed alone does not reveal the key.
 */
export function seal(
  { hash, id }: SealingKey,
  purpose: Purpose,
  content: { readonly secret: string },
): string {
  return encrypted(JSON.stringify(content), derivedKey(hash, id, purpose));
}

/** Undefined unless `seal` made it for this key and purpose. */
export function unseal<Content extends { readonly secret: string }>(
  { hash, id }: SealingKey,
  purpose: Purpose,
  sealed: string,
): Content | undefined {
  const text = decrypted(sealed, derivedKey(hash, id, purpose));
  const content = text === undefined ? undefined : (JSON.parse(text) as Content);
  return content && hashKey(content.secret) === hash ? content : undefined;
}

const sealedPrefix = 'sealed_';

/**
 * Seals secrets of accounts with the configured key, which the database does not have, so that a stolen database or backup reveals
 * none. Without a key, secrets are stored as they are.
 */
export class SecretSeal {
  readonly #key: string | undefined;

  constructor(key: string | undefined) {
    this.#key = key;
  }

  seal(secret: string, accountId: AccountId): string {
    if (this.#key === undefined) return secret;
    return sealedPrefix + encrypted(secret, derivedKey(this.#key, accountId, 'parley webhook secret'));
  }

  /** Undefined if another key sealed the secret. A secret stored before there was a key is returned unchanged. */
  open(sealed: string, accountId: AccountId): string | undefined {
    if (!sealed.startsWith(sealedPrefix)) return sealed;
    if (this.#key === undefined) return undefined;
    const key = derivedKey(this.#key, accountId, 'parley webhook secret');
    return decrypted(sealed.slice(sealedPrefix.length), key);
  }
}

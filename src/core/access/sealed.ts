/**
 * Seals what stands for a key: encrypted under the key's stored hash, for one purpose. It contains the key, so a stolen database
 * cannot make it, and what is sealed alone does not reveal the key.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Key } from '../entities/key.ts';
import { hashKey } from '../values/key-secret.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

type SealingKey = Pick<Key, 'id' | 'hash'>;
type Purpose = 'parley console session' | 'parley client secret';

/** @returns letters and digits of base64url */
export function seal(key: SealingKey, purpose: Purpose, content: { readonly secret: string }): string {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, sealingKey(key, purpose), nonce);
  const sealed = Buffer.concat([sealing.update(JSON.stringify(content)), sealing.final()]);
  return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64url');
}

/** Undefined unless `seal` made it for this key and purpose. */
export function unseal<Content extends { readonly secret: string }>(
  key: SealingKey,
  purpose: Purpose,
  sealed: string,
): Content | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length <= nonceBytes + tagBytes) return undefined;
  const opening = createDecipheriv(cipher, sealingKey(key, purpose), bytes.subarray(0, nonceBytes));
  opening.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const parts = [opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()];
    const content = JSON.parse(Buffer.concat(parts).toString()) as Content;
    return hashKey(content.secret) === key.hash ? content : undefined;
  } catch {
    return undefined;
  }
}

function sealingKey({ hash, id }: SealingKey, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', hash, id, purpose, 32));
}

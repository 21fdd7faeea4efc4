/** The format of keys: a prefix, 256 random bits and a checksum. A mistyped key fails the checksum and is not looked up. */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const keyKinds = { account: 'pk_', admin: 'pa_' } as const;
export type KeyKind = keyof typeof keyKinds;
/** Begins the secret of an invitation, which no request is served with. */
export const invitationPrefix = 'pi_';

const secretBytes = 32;
/** In base 36, 256 bits take 50 digits and a CRC-32 takes 7. */
const secretDigits = 50;
const checksumDigits = 7;
const keyPattern = new RegExp(`^(pk_|pa_|pi_)([0-9a-z]{${secretDigits}})([0-9a-z]{${checksumDigits}})$`);

export function newKeySecret(prefix: string): string {
  const random = BigInt(`0x${randomBytes(secretBytes).toString('hex')}`);
  const body = prefix + random.toString(36).padStart(secretDigits, '0');
  return body + checksum(body);
}

/** Whether a text has the format of a key. */
export function isWellFormedKey(text: string): boolean {
  return isWellFormed(text) && !text.startsWith(invitationPrefix);
}

export function isWellFormedInvitation(text: string): boolean {
  return isWellFormed(text) && text.startsWith(invitationPrefix);
}

function isWellFormed(text: string): boolean {
  const match = keyPattern.exec(text);
  return match !== null && checksum(text.slice(0, -checksumDigits)) === match[3];
}

/** The SHA-256 of a key. Nothing else of it is stored. */
export function hashKey(secret: string): string {
  return hash('sha256', secret, 'hex');
}

function checksum(body: string): string {
  return crc32(body).toString(36).padStart(checksumDigits, '0');
}

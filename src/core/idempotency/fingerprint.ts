import { createHash } from 'node:crypto';

/** A hash of a request's fields, 256 bits in hexadecimal. The order of members in an object does not matter. */
export function fingerprintOf(fields: unknown): string {
  return sha256(JSON.stringify(canonical(fields)));
}

/** The value with sorted members, and with hashes in place of bytes. */
function canonical(value: unknown): unknown {
  if (value instanceof Uint8Array) return sha256(value);
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

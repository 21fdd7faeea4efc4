import { createHash } from 'node:crypto';

/**
 * What makes two requests the same: equal for equal fields, whatever the order in which a client wrote the members of an
 * object. Hexadecimal, 256 bits.
 */
export function fingerprintOf(fields: unknown): string {
  return sha256(JSON.stringify(canonical(fields)));
}

/** The same value with its members in one order, and bytes by their hash. */
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

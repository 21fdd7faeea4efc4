import { createHash } from 'node:crypto';

/**
 * A hash of a request's fields: equal fields give equal fingerprints, in whatever order a client wrote the members of an object.
 * 256 bits in hexadecimal.
 */
export function fingerprintOf(fields: unknown): string {
  return sha256(JSON.stringify(canonical(fields)));
}

/** The value with its members sorted, and bytes replaced by their hash. */
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

import type { Operation } from '../core/entities/usage.ts';

/** Operations that return the same object until their answer changes. */
const repeated: ReadonlySet<Operation> = new Set<Operation>(['catalog']);

/**
 * Encodes an operation's answers, and reuses the bytes of an object that was encoded before.
 * @param operation undefined for administration
 */
export function answerEncoder<M extends object, T extends object | string>(
  operation: Operation | undefined,
  encode: (answer: M) => T,
): (answer: M) => T {
  if (operation === undefined || !repeated.has(operation)) return encode;
  const known = new WeakMap<M, T>();
  return (answer) => {
    const kept = known.get(answer);
    if (kept !== undefined) return kept;
    const encoded = encode(answer);
    known.set(answer, encoded);
    return encoded;
  };
}

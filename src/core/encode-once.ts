import type { Operation } from './ports/usage.ts';

/** Operations that answer with the same object again as long as the answer is the same. */
const repeated: ReadonlySet<Operation> = new Set<Operation>(['catalog']);

/**
 * The encoder of an operation's answers, which encodes an object that it has met before only once.
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

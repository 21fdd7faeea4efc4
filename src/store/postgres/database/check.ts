/** Checks of a transaction that continues without waiting for their result. */
import { DatabaseError } from 'pg';

const divisionByZero = '22012';

/** An expression that ends the transaction unless the condition is true. No other statement of requests divides. */
export const failUnless = (condition: string): string => `1 / (${condition})::int4`;

/** Whether such an expression has ended it. */
export function hasFailedCheck(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === divisionByZero;
}

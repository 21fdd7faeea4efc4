import { none, type Reserved } from '../../../core/books/books.ts';
import type { CountedAmount } from '../../../core/entities/count.ts';
import type { Reservation } from '../../../core/entities/reservation.ts';
import type { RecordStart } from '../../../core/entities/usage.ts';

/** The rows that the end of a request changes. */
export interface ReservedRows {
  readonly start: Omit<RecordStart, 'wire'>;
  readonly holdsCredits: boolean;
  readonly counted: readonly CountedAmount[];
  /** The keys and accounts whose rates the request used. */
  readonly rated: readonly string[];
  /** The reservation, if it is known and only holds credits. */
  readonly reserved?: Reserved | undefined;
}

export interface RunningRequest extends ReservedRows {
  readonly start: RecordStart;
  /** The latest operation on the request. The next one begins after it. */
  last: Promise<unknown>;
  /** Whether it is reserved; false while that is uncertain. */
  isReserved: boolean;
}

export function runningRequest(
  start: RecordStart,
  { hold, counted = [], rates }: Reservation,
  last: Promise<unknown>,
): RunningRequest {
  const rated = rates?.owners.map(({ id }) => id) ?? [];
  const isPlain = hold !== undefined && counted.length === 0 && rates === undefined;
  const reserved = isPlain
    ? { accountId: start.accountId, hold: hold.amount, counted: none, rateUses: none }
    : undefined;
  return { start, holdsCredits: hold !== undefined, counted, rated, reserved, last, isReserved: false };
}

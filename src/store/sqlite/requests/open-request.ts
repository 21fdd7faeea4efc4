import type { Reservation } from '../../../core/entities/reservation.ts';
import type { RecordStart } from '../../../core/entities/usage.ts';
import type { Price } from '../../../core/values/money.ts';
import type { Counter } from '../../tables/fair-use.ts';
import type { ReservedAmount } from './counts.ts';

/** A running request with its reservation. */
export interface OpenRequest {
  readonly start: RecordStart;
  /** Credits in nano-credits. */
  readonly hold: bigint;
  readonly price: Price | undefined;
  readonly counter: Counter | undefined;
  units: number;
  counted: readonly ReservedAmount[] | undefined;
  readonly sinceMs: number;
  /** The write of its started record. Undefined if none was begun, or the last one failed. */
  started: Promise<void> | undefined;
  /** Whether the started record is durable. */
  isStarted: boolean;
  isEnding: boolean;
}

export function openRequest(start: RecordStart, { fairUse, hold }: Reservation): OpenRequest {
  return {
    start,
    hold: hold?.amount ?? 0n,
    price: hold?.price,
    counter: fairUse && { accountId: start.accountId, month: fairUse.month },
    units: fairUse?.units ?? 0,
    counted: undefined,
    sinceMs: performance.now(),
    started: undefined,
    isStarted: false,
    isEnding: false,
  };
}

import type { HeldAmounts } from '../../../core/books/books.ts';
import type { RecordStart } from '../../../core/entities/usage.ts';
import type { Price } from '../../../core/values/money.ts';

export interface RunningRequest {
  readonly start: RecordStart;
  reserved: HeldAmounts;
  readonly price: Price | undefined;
  readonly sinceMs: number;
  /** The write of its started record. Undefined if none was begun, or if the last one failed. */
  started: Promise<void> | undefined;
  /** Whether the started record is durable. */
  isStarted: boolean;
  isEnding: boolean;
}

export function runningRequest(
  start: RecordStart,
  reserved: HeldAmounts,
  price: Price | undefined,
): RunningRequest {
  const sinceMs = performance.now();
  return { start, reserved, price, sinceMs, started: undefined, isStarted: false, isEnding: false };
}

import type { NanoCredits } from '../billing/money.ts';
import type { RecordEnd, RecordStart, Wire } from './usage.ts';

/** What core tells of requests as they go, for metrics and traces. It must not throw, and costs each request its time. */
export interface RequestObserver {
  /** A request with a valid key has come. */
  began(start: RecordStart): void;
  /** It has set aside what it may cost. */
  held(amount: NanoCredits): void;
  /** It has ended and its record is written. `held` is what it had set aside, and has no more. */
  ended(start: RecordStart, end: RecordEnd, held: NanoCredits | undefined): void;
  /** A request without a valid key was turned away. */
  refusedKey(wire: Wire): void;
}

export const noObserver: RequestObserver = {
  began: () => undefined,
  held: () => undefined,
  ended: () => undefined,
  refusedKey: () => undefined,
};

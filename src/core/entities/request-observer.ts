import type { NanoCredits } from '../values/money.ts';
import type { RecordEnd, RecordStart, Wire } from './usage.ts';

/** Observes requests for metrics. Runs within each request, so it must be fast and must not throw. */
export interface RequestObserver {
  /** A request with a valid key has arrived. */
  began(start: RecordStart): void;
  /** The request holds credits. */
  held(amount: NanoCredits): void;
  /** The request has ended and its record is written. `held` is the released hold. */
  ended(start: RecordStart, end: RecordEnd, held: NanoCredits | undefined): void;
  /** A turn of live speech has its text, this long after its last audio. */
  recognised(delayMs: number): void;
  /** A request without a valid key was refused. */
  refusedKey(wire: Wire): void;
}

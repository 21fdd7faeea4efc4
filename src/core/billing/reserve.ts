/** The amounts that a request reserves before it runs. */
import type { Hold } from '../entities/reservation.ts';

export interface Reserve {
  readonly model: string;
  readonly characters?: number;
  /** Fair-use units to reserve; undefined if the operation spends none. */
  readonly fairUse?: FairUseUnits;
  readonly hold?: Hold;
  /** Seconds of audio to transcribe, as far as they are known. */
  readonly audioSeconds?: number;
  /** The most tokens that a chat can use. */
  readonly tokens?: number;
}

export interface FairUseUnits {
  readonly units: number;
  /** The month's allowance. */
  readonly limitUnits: number;
}

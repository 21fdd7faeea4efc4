/** The amounts that a request reserves before it runs. */
import type { Hold } from '../entities/reservation.ts';

export interface Reserve {
  /** Undefined for a session whose requests have their own. */
  readonly model?: string;
  readonly characters?: number;
  /** Units of fair use, and the month's allowance; undefined if the operation spends none. */
  readonly fairUse?: { readonly units: number; readonly limitUnits: number };
  readonly hold?: Hold;
  /** Seconds of audio to transcribe, if known. */
  readonly audioSeconds?: number;
  /** The most tokens that a chat can use. */
  readonly tokens?: number;
}

/** Amounts that limits count. */
export type Counted = Pick<Reserve, 'hold' | 'characters' | 'audioSeconds'> & {
  /** Units of fair use. */
  readonly units?: number | undefined;
};

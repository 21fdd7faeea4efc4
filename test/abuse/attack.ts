import type { Target } from './harness/target.ts';

export interface Attack {
  readonly name: string;
  /** A stranger has no key. */
  readonly by: 'stranger' | 'customer';
  /** Connections of one play, among which the memory is divided. Default: 1. */
  readonly connections?: number;
  /** Requests of one play, among which the time is divided. Default: as many as connections. */
  readonly requests?: number;
  /** Bytes that its request, or the upstream's answer, has. Default: 0. */
  readonly bytes?: number;
  /** Whether it plays on a server of its own, and only its answers count. */
  readonly isApart?: boolean;
  /** @throws if the server does not answer as it should */
  play(target: Target): Promise<void>;
}

/** Attacks of one class. */
export interface AttackClass {
  readonly title: string;
  readonly attacks: readonly Attack[];
}

import type { Target } from './harness/target.ts';

export interface Attack {
  readonly name: string;
  /** A stranger has no key. */
  readonly by: 'stranger' | 'customer';
  /** Connections of one run, by which the memory is divided. Default: 1. */
  readonly connections?: number;
  /** Requests of one run, by which the time is divided. Default: the number of connections. */
  readonly requests?: number;
  /** Size of the request, or of the upstream's answer, in bytes. Default: 0. */
  readonly bytes?: number;
  /** Allowed memory of one connection, in MiB. Default: by who attacks, and the bytes. */
  readonly memoryMiBMax?: number;
  /** Whether the attack runs on a separate server, and only its answers count. */
  readonly isApart?: boolean;
  /** @throws if the server does not answer as expected */
  play(target: Target): Promise<void>;
}

/** Attacks of one class. */
export interface AttackClass {
  readonly title: string;
  readonly attacks: readonly Attack[];
}

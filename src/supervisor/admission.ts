import type { ProgramSettings } from './program-settings.ts';

/** A program, as the one that shares out the memory sees it. */
export interface Admitted {
  readonly name: string;
  readonly settings: ProgramSettings;
  /** Expected or measured, whichever is more. */
  readonly bytes: number;
  /** Whether it is ready and has no calls. */
  readonly isIdle: boolean;
  /** Whether its end was asked for. */
  readonly isEnding: boolean;
  /** 0 if it was never used. */
  readonly lastUsedAtMs: number;
  stop(reason: string): Promise<void>;
}

/** Decides which programs run at the same time. */
export interface Admission {
  /** Creates the folder of the sockets. */
  makeSocketDir(): void;
  /** Resolves when the program may start; it then counts as running until `left`. @throws `overloaded` */
  enter(program: Admitted): Promise<void>;
  /** The program no longer waits or runs. */
  left(program: Admitted): void;
  /** The program has become idle, or needs more memory than before. */
  changed(): void;
}

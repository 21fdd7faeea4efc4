import { ParleyError } from '../../src/core/values/errors.ts';

/** A parser of Parley that gets random inputs. */
export interface FuzzTarget {
  /** The first inputs. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Words of the format, which mutations insert. */
  readonly words?: readonly string[];
  /** Prepares the function that reads an input. */
  open(): Promise<OpenTarget> | OpenTarget;
}

export interface OpenTarget {
  /** @throws if the parser fails in a forbidden way */
  read(input: Buffer): void | Promise<void>;
  close?(): Promise<void>;
}

/** Runs a parser that may refuse its input. */
export function refusable(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
  }
}

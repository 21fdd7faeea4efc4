/** A parser of ours under random input. */
export interface FuzzTarget {
  /** Inputs to begin with. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Words of the format, which mutations insert. */
  readonly words?: readonly string[];
  /** Prepares the function that reads an input. */
  open(): Promise<OpenTarget> | OpenTarget;
}

export interface OpenTarget {
  /** @throws if the parser fails in a way that it must not */
  read(input: Buffer): void | Promise<void>;
  close?(): Promise<void>;
}

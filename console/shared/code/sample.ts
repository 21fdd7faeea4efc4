/** A request as a program or a command. */
export interface Sample {
  /** The language, such as `Python`. */
  readonly name: string;
  readonly code: string;
}

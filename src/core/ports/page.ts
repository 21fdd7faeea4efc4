export interface Page<T, Id extends string> {
  readonly items: readonly T[];
  /** The id after which the next page begins; undefined on the last. */
  readonly nextAfter: Id | undefined;
}

export interface PageRequest {
  readonly size: number;
  readonly after: string | undefined;
}

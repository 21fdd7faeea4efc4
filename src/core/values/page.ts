export interface Page<T, Id extends string> {
  readonly items: readonly T[];
  /** The `after` of the next page; undefined on the last page. */
  readonly nextAfter: Id | undefined;
}

export interface PageRequest {
  readonly size: number;
  readonly after: string | undefined;
}

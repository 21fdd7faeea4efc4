/** Whether load balancers should send requests, which are served in any case. */
export interface Readiness {
  /** Undefined if it is ready. */
  whyNot(): string | undefined;
  readonly isStopping: boolean;
  /** Calls `listener` at every change. */
  onChange(listener: () => void): void;
}

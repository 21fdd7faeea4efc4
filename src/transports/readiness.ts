/** Whether load balancers should send requests. Requests are served in any case. */
export interface Readiness {
  /** Undefined when ready. */
  whyNot(): string | undefined;
  readonly isStopping: boolean;
  /** Calls `listener` at every change. */
  onChange(listener: () => void): void;
}

/** Whether load balancers should send requests. Requests are served in any case. */
export interface Readiness {
  /** Undefined when ready. */
  whyNot(): string | undefined;
  readonly isStopping: boolean;
  onChange(listener: () => void): void;
}

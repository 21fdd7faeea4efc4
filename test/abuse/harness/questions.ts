/** Requests from the attacker to the process of the server. */
export type Question =
  | { readonly ask: 'read' }
  /** Collects garbage and resets the measurements. */
  | { readonly ask: 'collect' }
  /** Sets the clock this much ahead of the real one. */
  | { readonly ask: 'shift'; readonly clockMs: number };

export interface Answer {
  /** Processor time of the main thread since it started. */
  readonly loopCpuMs: number;
  readonly longestBlockMs: number;
}

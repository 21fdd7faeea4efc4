/** The attacker's questions to the process of the server. */
export type Question =
  | { readonly ask: 'read' }
  /** Collects garbage and starts to measure anew. */
  | { readonly ask: 'collect' }
  /** Moves the clock by so much from the real one. */
  | { readonly ask: 'shift'; readonly clockMs: number };

export interface Answer {
  /** Processor time of the main thread since it started. */
  readonly loopCpuMs: number;
  readonly longestBlockMs: number;
}

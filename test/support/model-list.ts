/** The answer of GET /models, as far as tests look at it. */
export interface ModelList {
  readonly data: readonly {
    readonly id: string;
    readonly voices?: readonly string[];
    readonly voiceDetails?: unknown;
    readonly defaultVoice?: string;
  }[];
}

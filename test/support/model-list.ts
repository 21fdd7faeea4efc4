/** The members of GET /models that tests read. */
export interface ModelList {
  readonly data: readonly {
    readonly id: string;
    readonly voices?: readonly string[];
    readonly voiceDetails?: unknown;
    readonly defaultVoice?: string;
  }[];
}

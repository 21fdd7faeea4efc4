/** A request to an address that a customer chose. */
export interface WebhookRequest {
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  /** Names the receiver in failures. */
  readonly receiver: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The status of the answer, or a sentence that says why there is none. */
export type WebhookOutcome =
  | {
      readonly status: number;
      /** The wait that the receiver asked for. Absent unless it did. */
      readonly retryAfterMs?: number;
    }
  | { readonly failure: string };

export interface WebhookSender {
  /**
   * Takes at most 10 seconds and does not reject. Redirects are not followed. Of the answer's body, at most 4 KiB are
   * read, of the status 429.
   * @param signal ends the attempt early. Default: none
   */
  send(request: WebhookRequest, signal?: AbortSignal): Promise<WebhookOutcome>;
}

/** Counts alerts for metrics. */
export interface AlertObserver {
  raised(kind: string): void;
  /** @param outcome of one attempt; after the last one, `given_up` */
  attempted(outcome: 'delivered' | 'failed' | 'given_up'): void;
}

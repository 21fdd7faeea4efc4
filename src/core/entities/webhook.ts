/** A POST to an address that a customer chose. */
export interface WebhookPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The status of the answer, or a sentence that says why there is none. */
export type WebhookOutcome = { readonly status: number } | { readonly failure: string };

export interface WebhookSender {
  /**
   * Takes at most 10 seconds and does not reject. Redirects are not followed, and the answer's body is not read.
   * @param signal ends the attempt early. Default: none
   */
  post(post: WebhookPost, signal?: AbortSignal): Promise<WebhookOutcome>;
}

/** Counts alerts for metrics. */
export interface AlertObserver {
  raised(kind: string): void;
  /** @param outcome of one attempt; after the last one, `given_up` */
  attempted(outcome: 'delivered' | 'failed' | 'given_up'): void;
}

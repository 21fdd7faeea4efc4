/** An identity provider, at which people sign in to the console. */

/** Statements of the provider about a person. */
export type Claims = Readonly<Record<string, unknown>>;

export interface Person {
  /** For people who read the audit trail: a name that may change, and the provider's permanent id. */
  readonly label: string;
  /** The issuer and the person's permanent id there. */
  readonly subject: string;
  /** The issuer and the id of the session there; empty if the provider does not name it. */
  readonly session: string;
}

/** A logout at the provider: of a person, or of one session. */
export interface ProviderLogout {
  readonly of: 'subject' | 'session';
  readonly id: string;
  /** Later sessions continue. */
  readonly startedBeforeMs: number;
}

/** A sign-in that has begun. The browser keeps these values until it comes back. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface IdentityProvider {
  /**
   * Begins a sign-in.
   * @param callback the URL to which the provider sends the browser back
   * @returns the URL of the provider's page
   * @throws `overloaded`; `upstream_error` if the provider cannot be used
   */
  begin(callback: string): Promise<{ readonly url: string; readonly attempt: SignInAttempt }>;
  /**
   * Exchanges the code in the URL of the callback for the claims of a verified ID token.
   * @throws `overloaded`; `upstream_error` for a wrong answer of the browser or the provider
   */
  finish(callback: URL, attempt: SignInAttempt): Promise<Claims>;
  /** Verifies a logout token. @throws `overloaded`; `upstream_error` */
  readLogout(token: string): Promise<ProviderLogout>;
}

/** Whether a URL is safe for secrets: HTTPS, or HTTP to a program on this machine. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLocal = /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLocal);
}

/** Why a webhook did not answer, in sentences for its owner that reveal nothing about the server's network. */

/** The name of a webhook has no address that it may reach. */
export class AddressRefused extends Error {
  constructor() {
    super('the address is not allowed');
    this.name = 'AddressRefused';
  }
}

const unresolvable: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_NODATA', 'ENODATA']);
/** The name may still have an address. */
const unanswered: ReadonlySet<unknown> = new Set([
  ...['EAI_AGAIN', 'ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'EBADRESP', 'ECANCELLED'],
]);
const timeouts: ReadonlySet<unknown> = new Set([
  ...['TimeoutError', 'ConnectTimeoutError', 'HeadersTimeoutError', 'ETIMEDOUT'],
]);

export function failureOf(error: unknown): string {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  if (timeouts.has(name) || timeouts.has(code)) return 'The webhook did not answer in time.';
  // One sentence for all cases, so that callers cannot find out which names the server's network knows.
  if (error instanceof AddressRefused || unresolvable.has(code)) {
    return 'The name of the webhook has no public address.';
  }
  if (unanswered.has(code)) return 'The name of the webhook could not be looked up.';
  if (typeof code === 'string' && /CERT|SIGNATURE|ERR_TLS|SELF_SIGNED|ERR_SSL/.test(code)) {
    return 'The TLS certificate of the webhook could not be verified.';
  }
  return 'The webhook could not be reached.';
}

/** Why a receiver did not answer, in sentences for its owner that reveal nothing about the server's network. */

/** The name of a receiver has no address that alerts may reach. */
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

/** @param receiver the subject of a sentence, such as `The webhook` */
export function failureOf(error: unknown, receiver: string): string {
  const named = receiver.replace(/^The /, 'the ');
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  if (timeouts.has(name) || timeouts.has(code)) return `${receiver} did not answer in time.`;
  // One sentence for all cases, so that callers cannot find out which names the server's network knows.
  if (error instanceof AddressRefused || unresolvable.has(code)) {
    return `The name of ${named} has no public address.`;
  }
  if (unanswered.has(code)) return `The name of ${named} could not be looked up.`;
  if (typeof code === 'string' && /CERT|SIGNATURE|ERR_TLS|SELF_SIGNED|ERR_SSL/.test(code)) {
    return `The TLS certificate of ${named} could not be verified.`;
  }
  return `${receiver} could not be reached.`;
}

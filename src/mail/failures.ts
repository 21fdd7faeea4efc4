/** Reasons for a failed mail, in sentences that reveal only the code and the address of the server's answer. */

interface SmtpError {
  readonly code?: unknown;
  /** The code of the error that caused it. */
  readonly originalCode?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
  readonly recipient?: unknown;
}

function read(error: unknown): SmtpError {
  return typeof error === 'object' && error !== null ? error : {};
}

/**
 * Whether the server refused the address or the mail for good. A refused login or sender is for the operator to
 * correct, so the mail is tried again.
 */
export function isRefusal(error: unknown): boolean {
  const { command, responseCode } = read(error);
  const isPermanent = typeof responseCode === 'number' && responseCode >= 500 && responseCode !== 503;
  return isPermanent && (command === 'RCPT TO' || command === 'DATA');
}

export function smtpFailure(error: unknown): string {
  const { code, originalCode = '', command, responseCode, recipient } = read(error);
  if (code === 'ETIMEDOUT' || code === 'EABORT') return 'The mail server did not answer in time.';
  if (code === 'EDNS') return 'The name of the mail server could not be looked up.';
  if (code === 'EAUTH') return 'The mail server refused the login.';
  if (code === 'ETLS' || /CERT|SIGNATURE|ERR_TLS|ERR_SSL/.test(String(originalCode)))
    return 'The mail server offers no TLS connection with a valid certificate.';
  if (typeof responseCode !== 'number')
    return 'The mail server could not be reached, or broke the connection.';
  const what = { 'MAIL FROM': 'the sender', 'RCPT TO': 'the address', DATA: 'the mail' }[String(command)];
  const whom = typeof recipient === 'string' ? ` ${recipient}` : '';
  return `The mail server refused ${what ?? 'the connection'}${whom} with the code ${responseCode}.`;
}

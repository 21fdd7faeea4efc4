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

/** Whether the server may have taken the mail, because it was reached and gave no answer. */
export function isUnanswered(error: unknown): boolean {
  const { code, originalCode, responseCode } = read(error);
  const isAnswered = typeof responseCode === 'number' || code === 'EAUTH';
  return !(isAnswered || code === 'EDNS' || isOfTls(error) || originalCode === 'ECONNREFUSED');
}

function isOfTls(error: unknown): boolean {
  const { code, originalCode = '' } = read(error);
  return code === 'ETLS' || /CERT|SIGNATURE|ERR_TLS|ERR_SSL/.test(String(originalCode));
}

export function smtpFailure(error: unknown): string {
  const { code, command, responseCode, recipient } = read(error);
  if (code === 'ETIMEDOUT' || code === 'EABORT') return 'The mail server did not answer in time.';
  if (code === 'EDNS') return 'The name of the mail server could not be looked up.';
  if (code === 'EAUTH') return 'The mail server refused the login.';
  if (isOfTls(error)) return 'The mail server offers no TLS connection with a valid certificate.';
  if (typeof responseCode !== 'number')
    return 'The mail server could not be reached, or broke the connection.';
  const what = { 'MAIL FROM': 'the sender', 'RCPT TO': 'the address', DATA: 'the mail' }[String(command)];
  const whom = typeof recipient === 'string' ? ` ${recipient}` : '';
  return `The mail server refused ${what ?? 'the connection'}${whom} with the code ${responseCode}.`;
}

import type { AccountId } from '../values/ids.ts';

export interface Mail {
  /** The account whose rate counts it. */
  readonly accountId: AccountId;
  readonly to: readonly string[];
  /** One line. */
  readonly subject: string;
  readonly text: string;
  /** Makes the message id, the same in each attempt. */
  readonly id: string;
}

/** The end of one attempt to send a mail, or an alert. */
export type SendOutcome = 'accepted' | SendFailure;

export interface SendFailure {
  /** A sentence. */
  readonly failure: string;
  /** Whether another attempt is useless. */
  readonly isFinal: boolean;
  /** Whether the receiver refuses all further alerts. Default: false */
  readonly isOff?: boolean;
  /** Whether the server may have taken the mail: it did not answer. Default: false */
  readonly mayHaveArrived?: boolean;
  /** The wait that the receiver asks for, or until the account's rate allows another mail. Absent for none. */
  readonly retryAfterMs?: number;
}

export interface MailSender {
  /**
   * Takes at most 10 seconds and does not reject.
   * @param signal ends the attempt early. Default: none
   */
  send(mail: Mail, signal?: AbortSignal): Promise<SendOutcome>;
}

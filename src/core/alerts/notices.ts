/** Alerts as people read them: the subject and text of a mail, and messages of Slack and Matrix. */
import type { Alert as AlertMessage } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { DueAlert } from '../entities/alert.ts';
import { alertAdvice, alertWords } from './alert-words.ts';
import { describeAlert } from './messages.ts';

export interface Notice {
  /** One line: the account and what happened. */
  readonly subject: string;
  /** Advice for the reader. */
  readonly advice: string;
}

export function noticeOf({ alert, accountName }: Pick<DueAlert, 'alert' | 'accountName'>): Notice {
  const message: AlertMessage = describeAlert(alert);
  // The name of an account may hold any characters.
  const name = accountName.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
  return { subject: `${name}: ${alertWords(message)}`, advice: alertAdvice(message) };
}

export function mailText({ subject, advice }: Notice, { id, accountId }: DueAlert['alert']): string {
  return `${subject}.\n\n${advice}\n\nAccount: ${accountId}\nAlert: ${id}\n`;
}

/** The body of a Slack message, with a text for notifications and one block. */
export function slackBody({ subject, advice }: Notice): string {
  const text = escaped(`${subject}.`);
  const block = { type: 'section', text: { type: 'mrkdwn', text: `*${text}*\n${escaped(advice)}` } };
  return JSON.stringify({ text, blocks: [block] });
}

/** Slack's own rule for text that is not markup. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function matrixBody({ subject, advice }: Notice): string {
  return JSON.stringify({ msgtype: 'm.text', body: `${subject}.\n${advice}` });
}

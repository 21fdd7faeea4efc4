/** Alerts in words, for mail, chats, the command line and the console. Browsers run it too. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Alert, AlertSettings } from '../../../gen/parley/alerts/v1/alerts_pb.ts';

/** How a reader sees the values of an alert. */
export interface AlertStyle {
  readonly percent: (percent: number) => string;
  readonly credits: (amount: string) => string;
  readonly units: (amount: string) => string;
  readonly date: (date: Date) => string;
  readonly key: (id: string) => string;
}

export const plainStyle: AlertStyle = {
  percent: (percent) => `${percent}%`,
  credits: (amount) => amount,
  units: (amount) => amount,
  date: (date) => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
  key: (id) => id,
};

const planAhead = 'Start or extend a plan before then: without one, speech and transcription are refused.';
const planNow = 'Speech and transcription are refused. Start a plan to continue.';

/** A sentence without its full stop, with names of `facts` in braces, and advice in whole sentences. */
const kinds: Readonly<Record<string, readonly [sentence: string, advice: string]>> = {
  'budget.used': [
    '{percent} of {budget} is used{used}',
    'Requests beyond the budget are refused. Raise the budget to continue.',
  ],
  'fair_use.used': [
    '{percent} of the fair use of the month is used{usedUnits}',
    'Speech and transcription beyond the fair use are refused.',
  ],
  'credits.low': [
    'Fewer than {balanceBelow} credits are left: {balance}',
    'Requests that the credits do not cover are refused. Load credits to continue.',
  ],
  'trial.ending': ['The trial ends{onDate}', planAhead],
  'plan.ending': ['The plan ends{onDate}', planAhead],
  'trial.ended': ['The trial ended{onDate}', planNow],
  'plan.ended': ['The plan ended{onDate}', planNow],
  test: ['A test', 'Alerts of the account arrive here. There is nothing else to do.'],
};

const budgets: Readonly<Record<string, string>> = {
  'budgets.day': 'the budget for the day',
  'budgets.month': 'the budget for the month',
  'budgets.total': 'the budget',
};

const facts: Readonly<Record<string, (alert: Alert, style: AlertStyle) => string>> = {
  percent: ({ percent = 100 }, style) => style.percent(percent),
  budget: ({ keyId, limitName = '' }, { key }) =>
    `${budgets[limitName] ?? limitName} of ${keyId === undefined ? 'the account' : `the key ${key(keyId)}`}`,
  used: (alert, { credits }) => usedWords(alert, credits),
  usedUnits: (alert, { units }) => usedWords(alert, units),
  balance: ({ balance = '0' }, { credits }) => credits(balance),
  balanceBelow: ({ balanceBelow = '0' }, { credits }) => credits(balanceBelow),
  onDate: ({ endsAt }, { date }) => (endsAt === undefined ? '' : ` on ${date(timestampDate(endsAt))}`),
};

function usedWords({ used, limit }: Alert, text: (amount: string) => string): string {
  return used === undefined || limit === undefined ? '' : `: ${text(used)} of ${text(limit)}`;
}

/** Says why the alert was raised, in a sentence without its full stop. */
export function alertWords(alert: Alert, style = plainStyle): string {
  const [sentence] = kinds[alert.type] ?? [alert.type];
  return sentence.replace(/\{(\w+)\}/g, (_, name) => facts[name]?.(alert, style) ?? '');
}

/** Says how to react, in whole sentences. */
export function alertAdvice({ type, resetsAt }: Alert): string {
  const [, advice = ''] = kinds[type] ?? [];
  return resetsAt ? `${advice} It starts again at 0 on ${plainStyle.date(timestampDate(resetsAt))}.` : advice;
}

/** Where alerts are sent to, for people. Undefined if they are only listed. */
export function destinationOf({ webhookUrl, mailAddresses, slackUrl, matrix }: AlertSettings) {
  if (webhookUrl !== undefined) return { kind: 'webhook', address: webhookUrl } as const;
  if (mailAddresses.length > 0) return { kind: 'mail', address: mailAddresses.join(', ') } as const;
  if (slackUrl !== undefined) return { kind: 'slack', address: slackUrl } as const;
  if (matrix === undefined) return undefined;
  return { kind: 'matrix', address: `${matrix.roomId} at ${matrix.homeserverUrl}` } as const;
}

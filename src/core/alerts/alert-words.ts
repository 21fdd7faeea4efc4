/** Alerts in words, for mail, chats, the command line and the console. Browsers run it too. */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
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

interface KindOfAlert {
  readonly words: (alert: Alert, style: AlertStyle) => string;
  readonly advice: string;
}

const budgets: Readonly<Record<string, string>> = {
  'budgets.day': 'the budget for the day',
  'budgets.month': 'the budget for the month',
  'budgets.total': 'the budget',
};
const planAhead = 'Start or extend a plan before then: without one, speech and transcription are refused.';
const planNow = 'Speech and transcription are refused. Start a plan to continue.';

const kinds: Readonly<Record<string, KindOfAlert>> = {
  'budget.used': {
    words: (alert, { credits, key, percent }) => {
      const { keyId, limitName = '' } = alert;
      const whose = keyId === undefined ? 'the account' : `the key ${key(keyId)}`;
      const budget = `${budgets[limitName] ?? limitName} of ${whose}`;
      return `${percent(alert.percent ?? 100)} of ${budget} is used${usedWords(alert, credits)}`;
    },
    advice: 'Requests beyond the budget are refused. Raise the budget to continue.',
  },
  'fair_use.used': {
    words: (alert, { percent, units }) =>
      `${percent(alert.percent ?? 100)} of the fair use of the month is used${usedWords(alert, units)}`,
    advice: 'Speech and transcription beyond the fair use are refused.',
  },
  'credits.low': {
    words: ({ balance = '0', balanceBelow = '0' }, { credits }) =>
      `Fewer than ${credits(balanceBelow)} credits are left: ${credits(balance)}`,
    advice: 'Requests that the credits do not cover are refused. Load credits to continue.',
  },
  'trial.ending': { words: onDate('The trial ends'), advice: planAhead },
  'plan.ending': { words: onDate('The plan ends'), advice: planAhead },
  'trial.ended': { words: onDate('The trial ended'), advice: planNow },
  'plan.ended': { words: onDate('The plan ended'), advice: planNow },
  test: { words: () => 'A test', advice: 'Alerts of the account arrive here. There is nothing else to do.' },
};

/** Says why the alert was raised, in a sentence without its full stop. */
export function alertWords(alert: Alert, style = plainStyle): string {
  return kinds[alert.type]?.words(alert, style) ?? alert.type;
}

/** Says how to react, in whole sentences. */
export function alertAdvice({ type, resetsAt }: Alert): string {
  const advice = kinds[type]?.advice ?? '';
  return resetsAt ? `${advice} It starts again at 0 on ${dateWords(resetsAt, plainStyle)}.` : advice;
}

function usedWords({ used, limit }: Alert, text: (amount: string) => string): string {
  return used === undefined || limit === undefined ? '' : `: ${text(used)} of ${text(limit)}`;
}

function onDate(words: string): KindOfAlert['words'] {
  return ({ endsAt }, style) => words + (endsAt === undefined ? '' : ` on ${dateWords(endsAt, style)}`);
}

function dateWords(at: Timestamp, { date }: AlertStyle): string {
  return date(timestampDate(at));
}

/** Where alerts are sent to, for people. Undefined if they are only listed. */
export function destinationOf({ webhookUrl, mailAddresses, slackUrl, matrix }: AlertSettings) {
  if (webhookUrl !== undefined) return { kind: 'webhook', address: webhookUrl } as const;
  if (mailAddresses.length > 0) return { kind: 'mail', address: mailAddresses.join(', ') } as const;
  if (slackUrl !== undefined) return { kind: 'slack', address: slackUrl } as const;
  if (matrix === undefined) return undefined;
  return { kind: 'matrix', address: `${matrix.roomId} at ${matrix.homeserverUrl}` } as const;
}

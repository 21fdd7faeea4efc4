/** Alerts in words, for mail, chats, the command line and the console. Browsers run it too. */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Alert } from '../../../gen/parley/alerts/v1/alerts_pb.ts';

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

const budgets: Readonly<Record<string, string>> = {
  'budgets.day': 'the budget for the day',
  'budgets.month': 'the budget for the month',
  'budgets.total': 'the budget',
};

/** Says why the alert was raised, in a sentence without its full stop. */
export function alertWords(alert: Alert, style = plainStyle): string {
  const { type, keyId, percent = 100, limitName = '', balance = '0', balanceBelow = '0', endsAt } = alert;
  const share = style.percent(percent);
  const end = endsAt === undefined ? '' : ` on ${dateWords(endsAt, style)}`;
  switch (type) {
    case 'budget.used': {
      const whose = keyId === undefined ? 'the account' : `the key ${style.key(keyId)}`;
      const used = usedWords(alert, style.credits);
      return `${share} of ${budgets[limitName] ?? limitName} of ${whose} is used${used}`;
    }
    case 'fair_use.used':
      return `${share} of the fair use of the month is used${usedWords(alert, style.units)}`;
    case 'credits.low':
      return `Fewer than ${style.credits(balanceBelow)} credits are left: ${style.credits(balance)}`;
    case 'trial.ending':
      return `The trial ends${end}`;
    case 'plan.ending':
      return `The plan ends${end}`;
    case 'trial.ended':
      return `The trial ended${end}`;
    case 'plan.ended':
      return `The plan ended${end}`;
    case 'test':
      return 'A test';
    default:
      return type;
  }
}

function usedWords({ used, limit }: Alert, text: (amount: string) => string): string {
  return used === undefined || limit === undefined ? '' : `: ${text(used)} of ${text(limit)}`;
}

function dateWords(at: Timestamp, { date }: AlertStyle): string {
  return date(timestampDate(at));
}

/** Says how to react, in whole sentences. */
export function alertAdvice({ type, resetsAt }: Alert): string {
  const again = resetsAt && `It starts again at 0 on ${dateWords(resetsAt, plainStyle)}.`;
  switch (type) {
    case 'budget.used':
      return `Requests beyond the budget are refused. Raise the budget to continue.${again ? ` ${again}` : ''}`;
    case 'fair_use.used':
      return `Speech and transcription beyond the fair use are refused.${again ? ` ${again}` : ''}`;
    case 'credits.low':
      return 'Requests that the credits do not cover are refused. Load credits to continue.';
    case 'trial.ending':
    case 'plan.ending':
      return 'Start or extend a plan before then: without one, speech and transcription are refused.';
    case 'trial.ended':
    case 'plan.ended':
      return 'Speech and transcription are refused. Start a plan to continue.';
    case 'test':
      return 'Alerts of the account arrive here. There is nothing else to do.';
    default:
      return '';
  }
}

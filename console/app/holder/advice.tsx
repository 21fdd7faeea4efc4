import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import type { LimitCount } from '../../../gen/parley/account/v1/limits_pb.ts';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { dayMs, percentText, spanText } from '../format.tsx';
import { type LimitOwner, nearShare } from '../limits/limit-meters.tsx';
import { usedShare } from '../limits/limit-names.ts';
import type { SignedIn } from '../session.ts';

export interface Advice {
  readonly title: string;
  readonly text: string;
}

const soonMs = 3 * dayMs;
const fewNanoCredits = 1_000_000_000n;

/** Advice about plans, credits and limits that end soon or have ended. */
export function adviceFor(own: Account, ownKey: Key, { key }: SignedIn): Advice[] {
  return [
    ...aboutPlan(own),
    ...aboutCredits(own),
    ...aboutFairUse(own),
    ...aboutCounts(own, 'your account', 'Ask the operator of this server to raise it.'),
    ...aboutCounts(ownKey, 'this key', raisesKey),
    ...aboutKey(key),
  ];
}

const raisesKey =
  'Ask the operator of this server to raise it, or raise it with another key that has the scope manage and wider limits.';

const counted: Readonly<Record<string, readonly [limit: string, refused: string]>> = {
  'budgets.day': ['The budget for the day', 'Chats are'],
  'budgets.month': ['The budget for the month', 'Chats are'],
  'budgets.total': ['The budget', 'Chats are'],
  audio_seconds_per_day: ['The audio limit for the day', 'Transcription is'],
  characters_per_day: ['The character limit for the day', 'Speech is'],
};

function* aboutCounts({ limitCounts }: LimitOwner, whose: string, raise: string): Generator<Advice> {
  for (const count of limitCounts) yield* aboutCount(count, whose, raise);
}

function* aboutCount(count: LimitCount, whose: string, raise: string): Generator<Advice> {
  const share = usedShare(count);
  const [limit, refused] = counted[count.name] ?? [count.name, 'Requests are'];
  const again = count.resetsAt && spanText(timestampDate(count.resetsAt));
  if (share >= 1) {
    const until = again === undefined ? '' : ` until it starts again ${again}`;
    yield { title: `${limit} of ${whose} is used up.`, text: `${refused} refused${until}. ${raise}` };
  } else if (share >= nearShare) {
    const next = again === undefined ? '' : `It starts again ${again}. `;
    yield { title: `${limit} of ${whose} is ${percentText(share)} used.`, text: next + raise };
  }
}

function* aboutPlan({ subscription }: Account): Generator<Advice> {
  const { state = 'none', endsAt } = subscription ?? {};
  const open = 'Ask the operator of this server for a plan.';
  if (state === 'none')
    yield { title: 'No plan.', text: `Speech and transcription are not open to you. ${open}` };
  if (state === 'ended')
    yield { title: 'Your plan has ended.', text: `Speech and transcription are refused. ${open}` };
  if (endsAt === undefined || (state !== 'trial' && state !== 'active')) return;
  const end = timestampDate(endsAt);
  if (end.getTime() - Date.now() < soonMs) {
    const what = state === 'trial' ? 'Your trial' : 'Your plan';
    yield { title: `${what} ends ${spanText(end)}.`, text: `Speech and transcription end with it. ${open}` };
  }
}

function* aboutCredits({ balanceNanoCredits: balance, heldNanoCredits: held }: Account): Generator<Advice> {
  const load = 'Ask the operator of this server to load more.';
  if (balance - held <= 0n) yield { title: 'No credits are left.', text: `Chats are refused. ${load}` };
  else if (balance < fewNanoCredits) yield { title: 'Few credits are left.', text: load };
}

function* aboutFairUse({ fairUse }: Account): Generator<Advice> {
  if (fairUse === undefined || fairUse.limitUnits === 0n) return;
  const share = Number(fairUse.usedUnits) / Number(fairUse.limitUnits);
  const again = fairUse.resetsAt === undefined ? '' : spanText(timestampDate(fairUse.resetsAt));
  if (share >= 1)
    yield { title: 'Fair use is used up.', text: `Speech and transcription work again ${again}.` };
  else if (share > 0.8) yield { title: 'Fair use is nearly used up.', text: `It starts again ${again}.` };
}

function* aboutKey({ expires_at }: SignedIn['key']): Generator<Advice> {
  if (expires_at === null) return;
  const end = new Date(expires_at);
  if (end.getTime() - Date.now() > 7 * dayMs) return;
  yield {
    title: `This key expires ${spanText(end)}.`,
    text: 'Ask the operator of this server for a new key, or create one with a key that has the scope manage and expires later.',
  };
}

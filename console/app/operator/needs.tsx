/** What an operator should look at: engines that fail, upstream accounts without credits, accounts near their limits. */

import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import type { Account, EngineAttempt, UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import type { EngineState, GetServerStateResponse } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { Message, percentText, spanText } from '../format.tsx';
import { nearShare } from '../limits/limit-meters.tsx';
import { countText, countTitle, usedShare } from '../limits/limit-names.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { useLoaded } from '../states.tsx';
import { unfiltered } from '../usage/record-list.tsx';
import { readRecords } from '../usage/source.ts';
import { healthOf } from './engine-words.ts';

/** The newest requests of the last hour, whose upstreams are looked at. */
const recordsMax = 200;
/** The accounts used last, whose limits are looked at. */
const accountsMax = 200;
/** Rows of accounts. The fullest come first. */
const rowsMax = 8;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface Need {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly href: string;
  readonly link: string;
}

interface Props {
  readonly session: SignedIn;
  /** Undefined: unknown. */
  readonly state: GetServerStateResponse | undefined;
}

/** Renders nothing if nothing needs a person. */
export function Needs({ session, state }: Props) {
  const seesAccounts = mayDo(session, 'accounts:read');
  const accounts = useLoaded('near limits', async (signal) => {
    if (!seesAccounts) return [];
    const request = { pageSize: accountsMax, orderBy: 'last_used' };
    return (await admin.listAccounts(request, { signal })).accounts;
  });
  const seesRecords = mayDo(session, 'usage:read');
  const records = useLoaded('newest requests', async (signal) => {
    if (!seesRecords) return [];
    const times = { startTime: timestampFromDate(new Date(Date.now() - hourMs)) };
    return (await readRecords('admin', { ...unfiltered, ...times, id: '' }, { size: recordsMax }, signal))
      .items;
  });
  const needs = [
    ...(state ? aboutServer(state) : []),
    ...aboutUpstreams(records.value ?? []),
    ...aboutAccounts(accounts.value ?? []),
  ];
  if (needs.length === 0) return null;
  return (
    <ul class="notes" aria-label="Needs your attention">
      {needs.map(({ title, text, href, link }) => (
        <li key={title}>
          <strong>{title}</strong> {text} <a href={href}>{link}</a>
        </li>
      ))}
    </ul>
  );
}

function* aboutServer({ engines, models }: GetServerStateResponse): Generator<Need> {
  const shown = { href: '/console/models', link: 'Show the models' };
  const server = { href: '/console/server', link: 'Show the server' };
  for (const engine of engines) {
    const { words, badge } = healthOf(engine);
    if (badge === 'failed')
      yield { ...server, title: `The engine ${engine.name} ${words}.`, text: lastReason(engine) };
  }
  for (const { id, reason = '', available, disabled } of models) {
    if (!available && !disabled)
      yield { ...shown, title: `${id} cannot be called.`, text: <Message text={reason} /> };
  }
}

function lastReason({ program, requests }: EngineState): string {
  const { at, reason } = requests?.lastFailure ?? {};
  if (at !== undefined) return `Last failure, ${spanText(timestampDate(at))}: ${reason}`;
  return program?.failure === undefined ? '' : `Last failure: ${program.failure}`;
}

/** Names of errors by which upstreams say that an account is empty. */
const emptyCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'insufficient_credits',
  'billing_not_active',
  'billing_hard_limit_reached',
  'exceeded_current_quota_error',
  'Arrearage',
]);

const isEmpty = ({ upstreamStatus, upstreamCode = '' }: EngineAttempt): boolean =>
  upstreamStatus === 402 || emptyCodes.has(upstreamCode);

/** The engines whose newest request was refused for the credits of their upstream account. */
function* aboutUpstreams(records: readonly UsageRecord[]): Generator<Need> {
  const known = new Set<string>();
  for (const { id, state, engine, attempts, startedAt } of records) {
    if (state === 'ok' && engine !== undefined) known.add(engine);
    for (const attempt of attempts.filter((one) => !known.has(one.engine))) {
      known.add(attempt.engine);
      if (!isEmpty(attempt)) continue;
      const { engine: name, upstreamStatus, upstreamCode } = attempt;
      const answer = [upstreamStatus, upstreamCode && `(${upstreamCode})`].filter(Boolean).join(' ');
      yield {
        title: `The upstream account of ${name} has no credits left.`,
        text: `It answered ${answer}${startedAt ? `, ${spanText(timestampDate(startedAt))}` : ''}.`,
        href: `/console/usage?id=${id}`,
        link: 'Show the request',
      };
    }
  }
}

/** The fullest accounts first. */
function aboutAccounts(accounts: readonly Account[]): readonly Need[] {
  const found = accounts
    .flatMap((account) => nearest(account) ?? [])
    .sort((one, other) => other.share - one.share);
  const shown = found
    .slice(0, rowsMax)
    .map(({ account: { id, name }, share, text }) => ({
      title: share >= 1 ? `${name} is at its limit.` : `${name} is near its limit.`,
      text,
      href: `/console/accounts/${id}`,
      link: 'Show the account',
    }));
  if (found.length <= rowsMax) return shown;
  const further = {
    title: `${found.length - rowsMax} more accounts are near their limits.`,
    text: `Those are among the ${accounts.length} accounts used last.`,
    href: '/console/accounts?sort=last_used',
    link: 'Show the accounts',
  };
  return [...shown, further];
}

/** The fullest limit of an account, from 80 % on. */
function nearest(account: Account) {
  const { balanceNanoCredits, heldNanoCredits, lastUsedAt, fairUse, limitCounts, deletedAt } = account;
  if (deletedAt !== undefined || lastUsedAt === undefined) return undefined;
  const limits = limitCounts.map((count) => ({
    share: usedShare(count),
    text: `${countTitle(count)}: ${countText(count)}.`,
  }));
  if (fairUse !== undefined && fairUse.limitUnits > 0n) {
    const share = Number(fairUse.usedUnits) / Number(fairUse.limitUnits);
    limits.push({ share, text: `Fair use: ${percentText(share)} is used.` });
  }
  if (balanceNanoCredits - heldNanoCredits <= 0n && Date.now() - timestampDate(lastUsedAt).getTime() < dayMs)
    limits.push({ share: 1, text: 'No credits are left, so chats are refused.' });
  const [most] = limits.sort((one, other) => other.share - one.share);
  return most === undefined || most.share < nearShare ? undefined : { account, ...most };
}

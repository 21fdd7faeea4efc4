/** Who used the server in a period, what failed, and the credits that went and came. */

import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { admin } from '../api.ts';
import { nanoOf, placesOf } from '../credits.ts';
import { Count, Credits, percentText } from '../format.tsx';
import { mayDo, type SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { type Group, groupsOf, measureOf, sumOf } from '../usage/measures.ts';
import { useNamesOf } from '../usage/names.ts';
import { PeriodChoice } from '../usage/period-choice.tsx';
import { type Period, type PeriodName, usePeriod } from '../usage/periods.ts';
import { unfiltered } from '../usage/record-list.tsx';
import { readRecords, readTotals, served, type Total } from '../usage/source.ts';

const offered: readonly PeriodName[] = ['today', '7d', '30d', 'dates'];
const topMax = 5;
/** The newest failed requests, which the error codes are read from. */
const failedMax = 500;
const auditPages = { size: 1_000, max: 10 };

export function Activity({ session }: { readonly session: SignedIn }) {
  const chosen = usePeriod();
  return (
    <section aria-label="Activity">
      <div class="title above">
        <h2>Activity</h2>
        <PeriodChoice chosen={chosen} names={offered} />
      </div>
      <Facts period={chosen.period} session={session} />
      <TopAccounts period={chosen.period} session={session} />
      <Failures period={chosen.period} />
    </section>
  );
}

interface Props {
  readonly period: Period;
  readonly session: SignedIn;
}

function Facts({ period, session }: Props) {
  const { from, until } = period;
  const seesLoads = mayDo(session, 'audit:read');
  const facts = useLoaded(`facts ${JSON.stringify(period)}`, async (signal) => {
    const [totals, loads] = await Promise.all([
      readTotals('admin', { from, until, groupBy: ['operation'] }, signal),
      seesLoads ? loadsOf(period, signal) : undefined,
    ]);
    const spent = totals.reduce((sum, { costNanoCredits }) => sum + costNanoCredits, 0n);
    return { spent, loads };
  });
  return (
    <Show of={facts} what="the activity">
      {({ spent, loads }) => (
        <div class="cards">
          <Fact title="Credits spent" note="by chats">
            <Credits nano={spent} />
          </Fact>
          {loads && (
            <Fact
              title="Credits loaded"
              note={loads.isAll ? 'without adjustments' : 'at least; see the audit trail'}
            >
              <Credits nano={loads.sum} />
            </Fact>
          )}
        </div>
      )}
    </Show>
  );
}

interface FactProps {
  readonly title: string;
  readonly note: string;
  readonly children: ComponentChildren;
}

export function Fact({ title, note, children }: FactProps) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class="big">{children}</p>
      <p class="quiet">{note}</p>
    </section>
  );
}

async function newestFailed({ from, until }: Period, signal: AbortSignal): Promise<readonly UsageRecord[]> {
  const times = { startTime: timestampFromDate(from), endTime: timestampFromDate(until) };
  const filter = { ...unfiltered, state: 'failed', id: '' };
  return (await readRecords('admin', { ...filter, ...times }, { size: failedMax }, signal)).items;
}

/** The sum of the loads, as the audit trail has them, newest first. */
async function loadsOf({ from, until }: Period, signal: AbortSignal) {
  let sum = 0n;
  let pageToken: string | undefined;
  for (let page = 0; page < auditPages.max; page++) {
    const request = { pageSize: auditPages.size, ...(pageToken !== undefined && { pageToken }) };
    const { entries, nextPageToken } = await admin.listAuditEntries(request, { signal });
    for (const { action, createdAt, details } of entries) {
      const at = createdAt && timestampDate(createdAt);
      if (at && at < from) return { sum, isAll: true };
      if (action !== 'credits.load' || !at || at >= until) continue;
      sum += nanoOf((JSON.parse(details) as { amount: string }).amount);
    }
    if (nextPageToken === undefined) return { sum, isAll: true };
    pageToken = nextPageToken;
  }
  return { sum, isAll: false };
}

const { requests, credits } = measureOf;

function TopAccounts({ period, session }: Props) {
  const { from, until } = period;
  const totals = useLoaded(`top ${JSON.stringify(period)}`, (signal) => {
    const top = { top: topMax, topBy: credits.topBy };
    return readTotals('admin', { from, until, groupBy: ['account', 'operation'], top }, signal);
  });
  return (
    <section class="card">
      <h2>Top accounts, by credits</h2>
      <Show of={totals} what="the accounts">
        {(all) => <Accounts period={period} session={session} totals={all.filter(isServed)} />}
      </Show>
    </section>
  );
}

const isServed = ({ operation }: Total): boolean => served.some((name) => name === operation);

function Accounts({ session, totals }: Props & { readonly totals: readonly Total[] }) {
  const all = groupsOf(totals, 'account', credits);
  const isRest = ({ totals: [first] }: Group) => first?.rest === true;
  const groups = [...all.filter((group) => !isRest(group)), ...all.filter(isRest)];
  const names = useNamesOf(
    session,
    totals.flatMap(({ accountId }) => accountId ?? []),
  );
  if (groups.length === 0) return <Empty title="No requests in this period." />;
  const query = new URLSearchParams(location.search);
  const places = placesOf(groups.map(({ sum }) => sum));
  const columns: readonly DataColumn<Group>[] = [
    {
      title: 'Account',
      form: 'row',
      cell: ({ name, totals: [first] }) => {
        if (first?.accountId === undefined) return name;
        query.set('account', name);
        return <a href={`/console/usage?${query}`}>{names.get(name) ?? name}</a>;
      },
    },
    {
      title: 'Requests',
      form: 'right',
      rank: 1,
      cell: ({ totals: own }) => <Count value={sumOf(own, requests)} />,
    },
    { title: 'Credits', form: 'right', cell: ({ sum }) => <Credits nano={sum} places={places} /> },
  ];
  return (
    <DataTable
      label="Top accounts"
      columns={columns}
      rows={groups}
      keyOf={({ name }) => name}
      contents={names.size}
    />
  );
}

interface ModelFailures {
  readonly model: string;
  readonly failed: bigint;
  readonly all: bigint;
  readonly codes: string;
}

function Failures({ period }: { readonly period: Period }) {
  const { from, until } = period;
  const failures = useLoaded(`failures ${JSON.stringify(period)}`, async (signal) => {
    const [totals, records] = await Promise.all([
      readTotals('admin', { from, until, groupBy: ['model', 'operation', 'state'] }, signal),
      newestFailed(period, signal),
    ]);
    return failuresOf(totals.filter(isServed), records);
  });
  return (
    <section class="card">
      <h2>Failures, by model</h2>
      <Show of={failures} what="the failures">
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="Nothing failed in this period." />
          ) : (
            <DataTable label="Failures" columns={failureColumns} rows={rows} keyOf={({ model }) => model} />
          )
        }
      </Show>
    </section>
  );
}

const failureColumns: readonly DataColumn<ModelFailures>[] = [
  { title: 'Model', form: 'row', cell: ({ model }) => model || 'none' },
  { title: 'Failed', form: 'right', cell: ({ failed }) => <Count value={failed} /> },
  {
    title: 'Of its requests',
    form: 'right',
    rank: 1,
    cell: ({ failed, all }) => percentText(Number(failed) / Number(all)),
  },
  { title: 'Newest codes', form: 'wrap', rank: 2, cell: ({ codes }) => codes || '–' },
];

function failuresOf(totals: readonly Total[], records: readonly UsageRecord[]): readonly ModelFailures[] {
  const codes = Map.groupBy(records, ({ model = '' }) => model);
  return [...Map.groupBy(totals, ({ model = '' }) => model)]
    .map(([model, own]) => ({
      model,
      all: sumOf(own, requests),
      failed: sumOf(
        own.filter(({ state }) => state === 'failed' || state === 'interrupted'),
        requests,
      ),
      codes: [...Map.groupBy(codes.get(model) ?? [], ({ code = 'unknown' }) => code)]
        .sort(([, one], [, other]) => other.length - one.length)
        .map(([code, { length }]) => `${code} ${length}`)
        .join(', '),
    }))
    .filter(({ failed }) => failed > 0n)
    .sort((one, other) => Number(other.failed - one.failed));
}

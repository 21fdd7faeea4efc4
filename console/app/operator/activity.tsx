/** Who used the server in a period, and what failed. */

import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { placesOf } from '../credits.ts';
import { Count, Credits, percentText } from '../format.tsx';
import type { SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { type Group, groupsOf, isFailed, measureOf, sumOf } from '../usage/measures.ts';
import { useNamesOf } from '../usage/names.ts';
import type { ChosenPeriod, Period } from '../usage/periods.ts';
import { unfiltered } from '../usage/record-list.tsx';
import { readRecords, readTotals, served, type Total } from '../usage/source.ts';

const topMax = 5;
/** The newest failed requests, which the error codes are read from. */
const failedMax = 500;

interface Props {
  readonly chosen: ChosenPeriod;
  readonly session: SignedIn;
}

export function Activity({ chosen, session }: Props) {
  return (
    <section aria-label="Activity">
      <TopAccounts chosen={chosen} session={session} />
      <Failures period={chosen.period} />
    </section>
  );
}

async function newestFailed({ from, until }: Period, signal: AbortSignal): Promise<readonly UsageRecord[]> {
  const times = { startTime: timestampFromDate(from), endTime: timestampFromDate(until) };
  const filter = { ...unfiltered, state: 'failed', id: '' };
  return (await readRecords('admin', { ...filter, ...times }, { size: failedMax }, signal)).items;
}

const { requests, credits } = measureOf;

function TopAccounts({ chosen, session }: Props) {
  const { period } = chosen;
  const { from, until } = period;
  const totals = useLoaded(`top ${JSON.stringify(period)}`, (signal) => {
    const top = { top: topMax, topBy: credits.topBy };
    return readTotals('admin', { from, until, groupBy: ['account', 'operation'], top }, signal);
  });
  return (
    <section class="card">
      <h2>Top accounts, by credits</h2>
      <Show of={totals} what="the accounts">
        {(all) => <Accounts chosen={chosen} session={session} totals={all.filter(isServed)} />}
      </Show>
    </section>
  );
}

const isServed = ({ operation }: Total): boolean => served.some((name) => name === operation);

function Accounts({ chosen, session, totals }: Props & { readonly totals: readonly Total[] }) {
  const all = groupsOf(totals, 'account', credits);
  const isRest = ({ totals: [first] }: Group) => first?.rest === true;
  const groups = [...all.filter((group) => !isRest(group)), ...all.filter(isRest)];
  const names = useNamesOf(
    session,
    totals.flatMap(({ accountId }) => accountId ?? []),
  );
  if (groups.length === 0) return <Empty title="No requests in this period." />;
  const query = new URLSearchParams(location.search);
  query.set('period', chosen.name);
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
      failed: sumOf(own.filter(isFailed), requests),
      codes: [...Map.groupBy(codes.get(model) ?? [], ({ code = 'unknown' }) => code)]
        .sort(([, one], [, other]) => other.length - one.length)
        .map(([code, { length }]) => `${code} ${length}`)
        .join(', '),
    }))
    .filter(({ failed }) => failed > 0n)
    .sort((one, other) => Number(other.failed - one.failed));
}

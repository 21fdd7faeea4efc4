/** Usage: a chart and a table of sums, and the single requests behind them. The filters are in the address. */

import { Choice, Segments } from '../fields.tsx';
import { Count, Credits, dayMs } from '../format.tsx';
import { useQuery } from '../router.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { Chart, seriesOfGroups } from './chart.tsx';
import { causes, FilterChoices, type Filters, useFilters } from './filters.tsx';
import {
  type Dimension,
  dimensions,
  groupsOf,
  isFailed,
  type Measure,
  measureOf,
  measures,
  sumOf,
} from './measures.ts';
import { type NamesById, useKeyNames, useNamesOf } from './names.ts';
import { PeriodChoice } from './period-choice.tsx';
import { type Period, type PeriodName, usePeriod } from './periods.ts';
import { RecordList } from './record-list.tsx';
import { type Kind, readTotals, served, type Total } from './source.ts';
import { TotalsTable } from './totals-table.tsx';

/** Accounts, keys or end users that the chart and its table show apart. */
const topMax = 10;
/** The server sums by what only records have so many days at most. */
const causeDaysMax = 31;

const offered: readonly PeriodName[] = ['today', '7d', '30d', '90d', '12m', 'dates'];

export function UsagePage({ session }: { readonly session: SignedIn }) {
  const { kind } = session;
  const filters = useFilters();
  const { accountId, keyId } = filters.values;
  const [by, setBy] = useQuery('by');
  const own = dimensionsFor(kind, accountId);
  const dimension = own.find((name) => name === by) ?? own[0] ?? 'operation';
  const chosen = usePeriod();
  const { period } = chosen;
  const [measureName, setMeasure] = useQuery('measure');
  const measure = measures.find(({ name }) => name === measureName) ?? measureOf.requests;
  const { from, until } = period;
  const { groupBy, isLong, isTooLong } = groupsToSum(dimension, filters, period);
  const request = {
    from,
    until,
    groupBy,
    accountId,
    keyId,
    ...(isLong && { top: { top: topMax, topBy: measure.topBy } }),
  };
  const totals = useLoaded(JSON.stringify(request), (signal) => readTotals(kind, request, signal));
  const models = valuesOf(totals.value, ({ model }) => model);
  const listsKeys = kind === 'account' || mayDo(session, 'keys');
  const keys = useKeyNames(session, listsKeys ? accountId : '');
  const names = useNamesOf(session, accountId === '' ? [] : [accountId]);
  return (
    <>
      <div class="title">
        <h1>Usage</h1>
        <PeriodChoice chosen={chosen} names={offered} />
      </div>
      <FilterChoices
        session={session}
        filters={filters}
        accountName={names.get(accountId) ?? accountId}
        keys={keys}
        models={models}
        causes={causesOf(totals.value)}
      />
      <section class="card" aria-label="Sums">
        <div class="filters">
          <Segments
            label="Measure"
            value={measure.name}
            onChange={(name) => setMeasure(name === measureOf.requests.name ? '' : name)}
            options={measures.map(({ name, label }) => ({ value: name, text: label }))}
          />
          <Choice
            label="Grouped by"
            value={dimension}
            onChange={(name) => setBy(name === own[0] ? '' : name)}
            options={own}
          />
        </div>
        {isTooLong ? (
          <Empty title="Sums by code, engine, status, end user and tags are of at most 31 days.">
            <p>Choose a shorter period.</p>
          </Empty>
        ) : (
          <Show of={totals} what="the totals">
            {(all) => (
              <Sums
                session={session}
                keys={keys}
                period={period}
                totals={filtered(all, filters.values)}
                dimension={dimension}
                measure={measure}
              />
            )}
          </Show>
        )}
      </section>
      <RecordList session={session} keys={keys} period={period} filter={filters.values} />
    </>
  );
}

const namesInApi: Readonly<Record<string, string>> = { status: 'http_status', user: 'end_user' };
const ofRecords: readonly Dimension[] = [...causes, 'user', 'tags'];
const long: readonly Dimension[] = ['key', 'account', 'user'];

/** What the server must sum by. It sums by what only records have unless the period is too long for it. */
function groupsToSum(dimension: Dimension, { values }: Filters, { unit, from, until }: Period) {
  const wanted = ofRecords.filter(
    (name) => name === dimension || causes.some((cause) => cause === name && values[cause] !== ''),
  );
  const isTooLong = wanted.length > 0 && until.getTime() - from.getTime() > causeDaysMax * dayMs;
  const isLong = long.includes(dimension);
  const apart = [...(isTooLong ? [] : wanted), ...(isLong ? [dimension] : [])];
  const names = new Set(apart.map((name) => namesInApi[name] ?? name));
  return { isTooLong, isLong, groupBy: [unit, 'operation', 'model', 'state', ...names] };
}

const causesOf = (totals: readonly Total[] | undefined) => ({
  code: valuesOf(totals, ({ code }) => code),
  engine: valuesOf(totals, ({ engine }) => engine),
  status: valuesOf(totals, ({ httpStatus }) => httpStatus?.toString()),
});

function valuesOf(
  totals: readonly Total[] | undefined,
  read: (total: Total) => string | undefined,
): readonly string[] {
  return [...new Set((totals ?? []).flatMap((total) => read(total) ?? []))].sort();
}

/** Names of keys are unique only within an account. */
function dimensionsFor(kind: Kind, accountId: string): readonly Dimension[] {
  if (kind === 'account') return dimensions.filter((name) => name !== 'account');
  return dimensions.filter((name) => name !== (accountId === '' ? 'key' : 'account'));
}

function filtered(
  totals: readonly Total[],
  { operation, model, state, code, engine, status }: Filters['values'],
): readonly Total[] {
  return totals.filter(
    (total) =>
      (operation === '' ? served.some((name) => name === total.operation) : total.operation === operation) &&
      (model === '' || total.model === model) &&
      (state === '' || total.state === state) &&
      (code === '' || total.code === code) &&
      (engine === '' || total.engine === engine) &&
      (status === '' || total.httpStatus === Number(status)),
  );
}

interface SumsProps {
  readonly session: SignedIn;
  readonly keys: NamesById;
  readonly period: Period;
  readonly totals: readonly Total[];
  readonly dimension: Dimension;
  readonly measure: Measure;
}

function Sums({ session, keys, period, totals, dimension, measure }: SumsProps) {
  const ids = totals.flatMap(({ accountId, keyId }) => accountId ?? keyId ?? []);
  const names = useNamesOf(session, ids, keys);
  const groups = groupsOf(totals, dimension, measure).map((group) => ({
    ...group,
    name: names.get(group.name) ?? group.name,
  }));
  return (
    <>
      <Key totals={totals} />
      {totals.length === 0 ? (
        <Empty title="No requests in this period.">
          <p>Choose another period or other filters.</p>
        </Empty>
      ) : (
        <>
          <Chart
            series={seriesOfGroups(groups, measure, period)}
            measure={measure}
            period={period}
            table="below"
          />
          <TotalsTable groups={groups} dimension={dimension} />
        </>
      )}
    </>
  );
}

/** The main numbers. */
function Key({ totals }: { readonly totals: readonly Total[] }) {
  const failed = sumOf(totals.filter(isFailed), measureOf.requests);
  return (
    <dl class="numbers">
      <div>
        <dt>Requests</dt>
        <dd>
          <Count value={sumOf(totals, measureOf.requests)} />
        </dd>
      </div>
      <div>
        <dt>Failed</dt>
        <dd class={failed > 0n ? 'bad' : ''}>
          <Count value={failed} />
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>
          <Count value={sumOf(totals, measureOf.tokens)} />
        </dd>
      </div>
      <div>
        <dt>Credits</dt>
        <dd>
          <Credits nano={sumOf(totals, measureOf.credits)} />
        </dd>
      </div>
    </dl>
  );
}

/** The requests of a period as one chart, with their numbers, by model or by state. */

import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { UsageRecord } from '../../../gen/parley/account/v1/account_pb.ts';
import { admin } from '../api.ts';
import { nanoOf } from '../credits.ts';
import { Choice, Segments } from '../fields.tsx';
import { Count, Credits, durationText, Figure, percentText, wholeText } from '../format.tsx';
import { useQuery } from '../router.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { Chart, type Series, seriesMax, seriesOfGroups } from '../usage/chart.tsx';
import { groupsOf, isFailed, measureOf, sumOf } from '../usage/measures.ts';
import { type ChosenPeriod, type Period, stepOf, stepsOf } from '../usage/periods.ts';
import { unfiltered } from '../usage/record-list.tsx';
import { readRecords, readTotals, served, type Total } from '../usage/source.ts';

const dimensions = ['model', 'state'] as const;
type By = (typeof dimensions)[number];

const { requests, credits } = measureOf;
const errors = { ...requests, label: 'Errors' };
const firstOutput = {
  label: 'First output',
  text: (ms: bigint) => durationText(Number(ms)),
  isWhole: false,
  plotted: (ms: bigint) => Number(ms) / 1000,
};
const shownMeasures = [
  { value: 'requests', text: 'Requests' },
  { value: 'errors', text: 'Errors' },
  { value: 'credits', text: 'Credits' },
  { value: 'first', text: 'First output' },
];

/** The newest requests, whose times to the first output are read. */
const recordsMax = 500;
const auditPages = { size: 1_000, max: 10 };

interface Props {
  readonly chosen: ChosenPeriod;
  readonly session: SignedIn;
}

interface Use {
  readonly totals: readonly Total[];
  /** The newest ones that have a first output. */
  readonly records: readonly UsageRecord[];
  /** Undefined: the reader may not see it. */
  readonly loaded: Loads | undefined;
}

export function UseChart({ chosen, session }: Props) {
  const { period, name } = chosen;
  const { from, until } = period;
  const seesLoads = mayDo(session, 'audit:read');
  const use = useLoaded(`use ${JSON.stringify(period)}`, async (signal): Promise<Use> => {
    const times = { startTime: timestampFromDate(from), endTime: timestampFromDate(until) };
    const groupBy = [period.unit, 'operation', 'model', 'state'];
    const [totals, page, loaded] = await Promise.all([
      readTotals('admin', { from, until, groupBy }, signal),
      readRecords('admin', { ...unfiltered, ...times, id: '' }, { size: recordsMax }, signal),
      seesLoads ? loadsOf(period, signal) : undefined,
    ]);
    return {
      totals: totals.filter(({ operation }) => served.some((one) => one === operation)),
      records: page.items.filter(({ firstOutputMs }) => firstOutputMs !== undefined),
      loaded,
    };
  });
  return (
    <section class="card" aria-label="Use">
      <Show of={use} what="the usage">
        {(value) => <Shown use={value} period={period} name={name} />}
      </Show>
    </section>
  );
}

interface ShownProps {
  readonly use: Use;
  readonly period: Period;
  readonly name: string;
}

function Shown({ use, period, name }: ShownProps) {
  const [shown, setShown] = useQuery('measure');
  const [by, setBy] = useQuery('by');
  const dimension = dimensions.find((one) => one === by) ?? dimensions[0];
  const value = shownMeasures.find((one) => one.value === shown)?.value ?? 'requests';
  const query = new URLSearchParams(location.search);
  query.set('period', name);
  return (
    <>
      <Numbers use={use} />
      <div class="filters">
        <Segments
          label="Measure"
          value={value}
          onChange={(next) => setShown(next === 'requests' ? '' : next)}
          options={shownMeasures}
        />
        <Choice
          label="By"
          value={dimension}
          onChange={(next) => setBy(next === dimensions[0] ? '' : next)}
          options={dimensions}
        />
        <a href={`/console/usage?${query}`}>All usage</a>
      </div>
      {use.totals.length === 0 ? (
        <Empty title="No requests in this period." />
      ) : (
        <Drawn use={use} period={period} value={value} by={dimension} />
      )}
    </>
  );
}

/** The main numbers. */
function Numbers({ use: { totals, records, loaded } }: { readonly use: Use }) {
  const all = sumOf(totals, requests);
  const failed = sumOf(totals.filter(isFailed), requests);
  const first = medianOf(records);
  return (
    <dl class="numbers">
      <Figure name="Requests">
        <Count value={all} />
      </Figure>
      <Figure
        name="Errors"
        title={all === 0n ? '' : percentText(Number(failed) / Number(all))}
        isBad={failed > 0n}
      >
        <Count value={failed} />
      </Figure>
      <Figure name="Credits spent">
        <Credits nano={sumOf(totals, credits)} />
      </Figure>
      {loaded && (
        <Figure
          name="Credits loaded"
          title={loaded.isAll ? 'Without adjustments' : 'At least; see the audit trail'}
        >
          <Credits nano={loaded.sum} />
        </Figure>
      )}
      <Figure
        name="First output"
        title={`The median of the newest ${wholeText(records.length)} requests that have one`}
      >
        {first === undefined ? '–' : firstOutput.text(first)}
      </Figure>
    </dl>
  );
}

interface DrawnProps {
  readonly use: Use;
  readonly period: Period;
  readonly value: string;
  readonly by: By;
}

function Drawn({ use: { totals, records }, period, value, by }: DrawnProps) {
  const table = 'of the page Usage';
  if (value === 'first') {
    return (
      <>
        <Chart
          series={firstOutputs(records, by, period)}
          measure={firstOutput}
          period={period}
          isLines
          table={table}
        />
        <p class="quiet">
          Median seconds to the first part of an answer, for chats the first token, of the newest{' '}
          {wholeText(records.length)} requests that have one.
        </p>
      </>
    );
  }
  const measure = value === 'credits' ? credits : value === 'errors' ? errors : requests;
  const groups = groupsOf(value === 'errors' ? totals.filter(isFailed) : totals, by, measure);
  if (groups.length === 0) return <Empty title="Nothing failed in this period." />;
  return (
    <Chart series={seriesOfGroups(groups, measure, period)} measure={measure} period={period} table={table} />
  );
}

/** Of the groups with the most requests. */
function firstOutputs(records: readonly UsageRecord[], by: By, period: Period): readonly Series[] {
  const steps = stepsOf(period);
  return [...Map.groupBy(records, (record) => record[by] ?? 'none')]
    .sort(([, one], [, other]) => other.length - one.length)
    .slice(0, seriesMax)
    .map(([name, own]) => {
      const byStep = Map.groupBy(own, ({ startedAt }) =>
        startedAt === undefined ? '' : stepOf(timestampDate(startedAt), period),
      );
      return {
        name,
        values: steps.map((step) => medianOf(byStep.get(step) ?? [])),
        whole: medianOf(own) ?? 0n,
      };
    });
}

function medianOf(records: readonly UsageRecord[]): bigint | undefined {
  const times = records.flatMap(({ firstOutputMs }) => firstOutputMs ?? []).sort((one, other) => one - other);
  const middle = times[Math.floor(times.length / 2)];
  return middle === undefined ? undefined : BigInt(middle);
}

interface Loads {
  readonly sum: bigint;
  readonly isAll: boolean;
}

/** The sum of the loads, as the audit trail has them, newest first. */
async function loadsOf({ from, until }: Period, signal: AbortSignal): Promise<Loads> {
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

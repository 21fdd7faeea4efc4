/** Requests of today, with bars for the days before. */
import type { ComponentChildren } from 'preact';
import { Count, Figure, percentText } from '../format.tsx';
import { DayBars } from './day-bars.tsx';
import { isFailed } from './measures.ts';
import { daysAgo, type Total } from './source.ts';

interface Props {
  /** By day, operation and state. */
  readonly totals: readonly Total[];
  readonly days: number;
  /** Further numbers of today. */
  readonly children: (today: readonly Total[]) => ComponentChildren;
}

export function Today({ totals, days, children }: Props) {
  const day = daysAgo(0).toISOString().slice(0, 10);
  const today = totals.filter((total) => total.day === day);
  const all = countOf(today);
  const failed = countOf(today.filter(isFailed));
  return (
    <section class="card">
      <div class="title">
        <h2>Today</h2>
        <a href="/console/usage">All usage</a>
      </div>
      <dl class="numbers">
        <Figure name="Requests">
          <Count value={all} />
        </Figure>
        <Figure name="Failed" title={`${failed} requests`} isBad={failed > 0n}>
          {percentText(all === 0n ? 0 : Number(failed) / Number(all))}
        </Figure>
        {children(today)}
      </dl>
      <DayBars totals={totals} days={days} />
    </section>
  );
}

export function countOf(totals: readonly Total[]): bigint {
  return totals.reduce((sum, { requests }) => sum + requests, 0n);
}

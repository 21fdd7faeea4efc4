/** The spans of time that usage can be of. They consist of whole days in UTC. */
import { dateText, dayMs } from '../format.tsx';
import { useQuery } from '../router.ts';
import { daysAgo } from './source.ts';

export interface Period {
  readonly label: string;
  /** Of the bars of a chart. */
  readonly unit: 'hour' | 'day' | 'month';
  readonly from: Date;
  /** The first moment after it. */
  readonly until: Date;
}

export const periodNames = ['30d', 'today', '7d', '90d', '12m', 'dates'] as const;
export type PeriodName = (typeof periodNames)[number];

export const periodLabels: Readonly<Record<PeriodName, string>> = {
  today: 'Today',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  '12m': 'Last 12 months',
  dates: 'Dates',
};

/** A bar is a month above `dayBarsMax` days, and an hour up to `hourDaysMax`: the server sums no hours of more days. */
const dayBarsMax = 92;
const hourDaysMax = 2;

/** The chosen period, from the address: one of the names, or the days of a choice, both included. */
export interface ChosenPeriod {
  readonly name: PeriodName;
  readonly choose: (name: PeriodName) => void;
  readonly period: Period;
  /** The days of `dates`, such as `2026-11-21`. */
  readonly days: readonly [from: string, to: string];
  readonly setDay: readonly [from: (day: string) => void, to: (day: string) => void];
}

/** @param usual the period of an address that names none */
export function usePeriod(usual: PeriodName = '30d'): ChosenPeriod {
  const [given, setName] = useQuery('period');
  const [from, setFrom] = useQuery('from');
  const [to, setTo] = useQuery('to');
  const name = periodNames.find((one) => one === given) ?? usual;
  const days = [dayOf(from) ?? dayText(daysAgo(29)), dayOf(to) ?? dayText(daysAgo(0))] as const;
  const choose = (next: PeriodName) => {
    setName(next === usual ? '' : next);
    setFrom(next === 'dates' ? days[0] : '');
    setTo(next === 'dates' ? days[1] : '');
  };
  const period = name === 'dates' ? betweenDays(days) : periodOf(name);
  return { name, choose, period, days, setDay: [setFrom, setTo] };
}

export function periodOf(name: Exclude<PeriodName, 'dates'>): Period {
  const label = periodLabels[name];
  const until = daysAgo(-1);
  if (name === 'today') {
    const from = daysAgo(0);
    return { label: `${label}, ${dateText(from, 'UTC')}`, unit: 'hour', from, until };
  }
  if (name === '12m') return { label, unit: 'month', from: monthsAgo(11), until };
  return { label, unit: 'day', from: daysAgo(Number.parseInt(name, 10) - 1), until };
}

/** In either order, as a person may have set the second day first. */
function betweenDays(days: readonly [string, string]): Period {
  const [first = 0, last = 0] = days.map((day) => Date.parse(day)).sort((one, other) => one - other);
  const count = (last - first) / dayMs + 1;
  const from = new Date(first);
  const words = count === 1 ? [from] : [from, new Date(last)];
  return {
    label: words.map((day) => dateText(day, 'UTC')).join(' to '),
    unit: count <= hourDaysMax ? 'hour' : count <= dayBarsMax ? 'day' : 'month',
    from,
    until: new Date(last + dayMs),
  };
}

/** The hour, day or month of a moment, as totals name it. */
export function stepOf(date: Date, { unit }: Period): string {
  const text = date.toISOString();
  if (unit === 'hour') return `${text.slice(0, 13)}:00:00Z`;
  return text.slice(0, unit === 'day' ? 10 : 7);
}

/** All hours, days or months of a period, as totals name them. */
export function stepsOf(period: Period): string[] {
  const { unit, from, until } = period;
  if (unit === 'month') return monthsBetween(from, until);
  const stepMs = unit === 'hour' ? dayMs / 24 : dayMs;
  const count = (until.getTime() - from.getTime()) / stepMs;
  return Array.from({ length: count }, (_, index) => {
    return stepOf(new Date(from.getTime() + index * stepMs), period);
  });
}

function monthsBetween(from: Date, until: Date): string[] {
  const months: string[] = [];
  const at = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth(), 1));
  for (; at < until; at.setUTCMonth(at.getUTCMonth() + 1)) months.push(at.toISOString().slice(0, 7));
  return months;
}

function monthsAgo(count: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1));
}

const dayText = (date: Date): string => date.toISOString().slice(0, 10);

/** Undefined unless the text is a day from 2000 to 2099. */
function dayOf(text: string): string | undefined {
  const isDay = /^20\d\d-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
  return isDay ? dayText(new Date(text)) : undefined;
}

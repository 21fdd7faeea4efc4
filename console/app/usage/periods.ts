/** The spans of time that a chart shows. */
import { dayMs } from '../format.tsx';
import { daysAgo } from './source.ts';

export interface Period {
  readonly name: string;
  readonly label: string;
  readonly unit: 'day' | 'month';
  readonly from: () => Date;
  /** All days or months from the beginning until today, as totals name them. */
  readonly steps: () => string[];
}

export const periods: readonly [Period, ...Period[]] = [
  lastDays('30d', 30),
  lastDays('7d', 7),
  lastDays('90d', 90),
  {
    name: '12m',
    label: 'Last 12 months',
    unit: 'month',
    from: () => monthsAgo(11),
    steps: () =>
      Array.from({ length: 12 }, (_, index) =>
        monthsAgo(11 - index)
          .toISOString()
          .slice(0, 7),
      ),
  },
];

function lastDays(name: string, count: number): Period {
  return {
    name,
    label: `Last ${count} days`,
    unit: 'day',
    from: () => daysAgo(count - 1),
    steps: () => {
      const from = daysAgo(count - 1).getTime();
      return Array.from({ length: count }, (_, index) =>
        new Date(from + index * dayMs).toISOString().slice(0, 10),
      );
    },
  };
}

function monthsAgo(count: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1));
}

import { wholeText } from '../format.tsx';
import { daysAgo, type Total } from './source.ts';

interface Props {
  readonly totals: readonly Total[];
  readonly days: number;
}

/** Requests of the last days as small bars, drawn without the chart library. */
export function DayBars({ totals, days }: Props) {
  const counts = Array.from({ length: days }, (_, index) => {
    const day = daysAgo(days - 1 - index)
      .toISOString()
      .slice(0, 10);
    const own = totals.filter((total) => total.day === day);
    const sum = own.reduce((whole, { requests }) => whole + Number(requests), 0);
    const failed = own
      .filter(({ state }) => state === 'failed')
      .reduce((whole, { requests }) => whole + Number(requests), 0);
    return { day, sum, failed };
  });
  const highest = Math.max(1, ...counts.map(({ sum }) => sum));
  const height = 56;
  const text = counts.map(({ day, sum }) => `${day}: ${sum}`).join(', ');
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${days * 20} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Requests by day. ${text}`}
      >
        {counts.map(({ day, sum, failed }, index) => (
          <g key={day}>
            <title>{`${day}: ${wholeText(sum)} requests, ${wholeText(failed)} failed`}</title>
            <rect class="ground" x={index * 20 + 3} y={0} width={14} height={height} rx={2} />
            <rect
              x={index * 20 + 3}
              y={height - (sum / highest) * height}
              width={14}
              height={(sum / highest) * height}
              rx={2}
            />
            <rect
              class="failed"
              x={index * 20 + 3}
              y={height - (failed / highest) * height}
              width={14}
              height={(failed / highest) * height}
            />
          </g>
        ))}
      </svg>
      <figcaption class="quiet">Requests of the last {days} days (UTC)</figcaption>
    </figure>
  );
}

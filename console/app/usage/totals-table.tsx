import type { ComponentChildren } from 'preact';
import { csvLine, save } from '../csv.ts';
import { Count, Credits, exactCredits, percentText, secondsText } from '../format.tsx';
import { Scroll } from '../scroll.tsx';
import { TableHead } from '../table-head.tsx';
import { seriesColor } from './chart.tsx';
import { type Dimension, type Group, type Measure, measures, sumOf } from './measures.ts';
import type { Total } from './source.ts';

interface Props {
  readonly groups: readonly Group[];
  readonly dimension: Dimension;
}

const [requests, credits, tokens, characters, audio] = measures as [
  Measure,
  Measure,
  Measure,
  Measure,
  Measure,
];

export function TotalsTable({ groups, dimension }: Props) {
  const whole = groups.reduce((sum, { totals }) => sum + sumOf(totals, requests), 0n);
  return (
    <>
      <Scroll label="Sums as a table">
        <table>
          <TableHead
            columns={[
              dimension[0]?.toUpperCase() + dimension.slice(1),
              ['Requests', 'right'],
              ['Share', 'right'],
              ['Tokens', 'right'],
              ['Characters', 'right'],
              ['Audio', 'right'],
              ['Credits', 'right'],
            ]}
          />
          <tbody>
            {groups.map(({ name, totals }, index) => {
              const own = sumOf(totals, requests);
              return (
                <tr key={name}>
                  <th scope="row">
                    <i class="swatch" style={{ background: seriesColor(index) }} /> {name}
                  </th>
                  <td class="right">
                    <Count value={own} />
                  </td>
                  <td class="right quiet">{percentText(whole === 0n ? 0 : Number(own) / Number(whole))}</td>
                  <Sum of={totals} measure={tokens} show={(value) => <Count value={value} />} />
                  <Sum of={totals} measure={characters} show={(value) => <Count value={value} />} />
                  <Sum of={totals} measure={audio} show={(value) => secondsText(Number(value) / 1000)} />
                  <Sum of={totals} measure={credits} show={(value) => <Credits nano={value} />} />
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      <p class="end">
        <button type="button" onClick={() => saveTotals(groups, dimension)}>
          Save as CSV
        </button>
      </p>
    </>
  );
}

interface SumProps {
  readonly of: readonly Total[];
  readonly measure: Measure;
  readonly show: (value: bigint) => ComponentChildren;
}

function Sum({ of, measure, show }: SumProps) {
  const value = sumOf(of, measure);
  return <td class="right">{value === 0n ? <span class="quiet">–</span> : show(value)}</td>;
}

/** One line per sum, with exact numbers. */
function saveTotals(groups: readonly Group[], dimension: Dimension): void {
  const head = [
    dimension,
    'time',
    'operation',
    'model',
    'state',
    'requests',
    'prompt_tokens',
    'completion_tokens',
    'cached_tokens',
    'cache_write_tokens',
  ];
  const lines = groups.flatMap(({ name, totals }) =>
    totals.map((total) =>
      csvLine([
        ...[
          name,
          total.day ?? total.month ?? '',
          total.operation ?? '',
          total.model ?? '',
          total.state ?? '',
        ],
        ...[total.requests, total.promptTokens, total.completionTokens].map(String),
        ...[total.cachedTokens, total.cacheWriteTokens, total.characters].map(String),
        ...[String(total.audioSecondsIn), String(total.audioSecondsOut), exactCredits(total.costNanoCredits)],
      ]),
    ),
  );
  const columns = [...head, 'characters', 'audio_seconds_in', 'audio_seconds_out', 'credits'];
  save('parley-totals.csv', 'text/csv', [csvLine(columns), ...lines]);
}

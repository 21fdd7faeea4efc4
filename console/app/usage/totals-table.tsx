import type { ComponentChildren } from 'preact';
import { exactCredits, placesOf } from '../credits.ts';
import { csvLine, save } from '../csv.ts';
import { Count, Credits, percentText, secondsText } from '../format.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { seriesColor } from './chart.tsx';
import { type Dimension, type Group, type Measure, measureOf, sumOf } from './measures.ts';
import type { Total } from './source.ts';

interface Props {
  readonly groups: readonly Group[];
  readonly dimension: Dimension;
}

const { requests, credits, tokens, characters, audio } = measureOf;

export function TotalsTable({ groups, dimension }: Props) {
  const whole = groups.reduce((sum, { totals }) => sum + sumOf(totals, requests), 0n);
  const places = placesOf(groups.map(({ totals }) => sumOf(totals, credits)));
  const count = (value: bigint) => <Count value={value} />;
  const summed = (
    title: string,
    measure: Measure,
    rank: number,
    show: SumProps['show'],
  ): DataColumn<Group> => ({
    title,
    form: 'right',
    rank,
    order: ({ totals }) => sumOf(totals, measure),
    cell: ({ totals }) => <Sum of={totals} measure={measure} show={show} />,
  });
  const columns: readonly DataColumn<Group>[] = [
    {
      title: dimension[0]?.toUpperCase() + dimension.slice(1),
      form: 'row',
      order: ({ name }) => name,
      cell: (group) => (
        <>
          <i class="swatch" style={{ background: seriesColor(groups.indexOf(group)) }} /> {group.name}
        </>
      ),
    },
    {
      title: 'Requests',
      form: 'right',
      order: ({ totals }) => sumOf(totals, requests),
      cell: ({ totals }) => count(sumOf(totals, requests)),
    },
    {
      title: 'Share',
      form: 'right',
      rank: 2,
      cell: ({ totals }) => (
        <span class="quiet">
          {percentText(whole === 0n ? 0 : Number(sumOf(totals, requests)) / Number(whole))}
        </span>
      ),
    },
    summed('Tokens', tokens, 3, count),
    summed('Characters', characters, 5, count),
    summed('Audio', audio, 4, (value) => secondsText(Number(value) / 1000)),
    summed('Credits', credits, 1, (value) => <Credits nano={value} places={places} />),
  ];
  return (
    <>
      <DataTable
        id="sums"
        label="Sums as a table"
        columns={columns}
        rows={groups}
        keyOf={({ name }) => name}
        contents={groups.map(({ name }) => name).join()}
      />
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
  return value === 0n ? <span class="quiet">–</span> : show(value);
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
          total.hour ?? total.day ?? total.month ?? '',
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

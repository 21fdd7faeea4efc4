/** A table that fits its window: the least important columns go first, unless the reader has chosen columns. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Scroll } from '../scroll.tsx';
import { type Head, type Sort, TableHead } from '../table-head.tsx';
import { ColumnChoice, useChosenColumns } from './column-choice.tsx';
import { useFit } from './use-fit.ts';

export interface DataColumn<Row> {
  readonly title: string;
  /** Default: the title. */
  readonly head?: ComponentChildren;
  /** Numbers are at the right; `row` is the header of its row; `wrap` and `scopes` break long texts; `actions` has an unseen title. */
  readonly form?: 'right' | 'row' | 'wrap' | 'scopes' | 'actions';
  /** The highest rank goes first. Default: the column stays. */
  readonly rank?: number;
  /** Whether its cell, with the title of a number or a `titled` one, is in the second line of rows that have no room for the column. */
  readonly isSecond?: boolean | 'titled';
  /** Sorts the rows by the head, smallest first; undefined ones are last. */
  readonly order?: (row: Row) => string | number | bigint | undefined;
  /** Sorts what the server sends. Default: by `order`, if there is one. */
  readonly sort?: Sort;
  readonly cell: (row: Row, index: number) => ComponentChildren;
}

interface Props<Row> {
  /** Names the choice of columns in the browser. Default: the reader cannot choose. */
  readonly id?: string;
  readonly label: string;
  readonly columns: readonly DataColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Whether further rows can be loaded: an order of these alone would be wrong. */
  readonly isPart?: boolean;
  /** Changes with the contents of the cells, unless `rows` do. */
  readonly contents?: unknown;
}

export function DataTable<Row>({
  id,
  label,
  columns: given,
  rows: unsorted,
  keyOf,
  isPart = false,
  contents,
}: Props<Row>) {
  const [chosen, choose] = useChosenColumns(id ?? '');
  const { columns, rows } = useSorted(given, unsorted, isPart, contents);
  const kept = columns.filter(({ title, rank }) => !rank || (chosen?.includes(title) ?? true));
  const { target, isMeasuring, isNarrow, hidden } = useFit(kept, chosen === undefined, [rows, contents]);
  const shown = kept.filter(({ title }) => !hidden.has(title));
  const second = isNarrow ? kept.filter(({ title, isSecond }) => isSecond && hidden.has(title)) : [];
  return (
    <>
      {id !== undefined && (
        <ColumnChoice
          label={label}
          columns={columns}
          shown={shown.map(({ title }) => title)}
          isAutomatic={chosen === undefined}
          onChoose={choose}
        />
      )}
      <Scroll label={label} target={target}>
        <table class={`rows ${isMeasuring ? 'measured' : ''} ${second.length > 0 ? 'two-lines' : ''}`}>
          <TableHead columns={shown.map(headOf)} />
          <tbody>
            {rows.map((row, index) => (
              <tr key={keyOf(row)}>
                {shown.map(({ title, form, cell }, place) => {
                  const contents = (
                    <>
                      {cell(row, index)}
                      {place === 0 && second.length > 0 && (
                        <Second columns={second} row={row} index={index} />
                      )}
                    </>
                  );
                  return form === 'row' ? (
                    <th key={title} scope="row">
                      {contents}
                    </th>
                  ) : (
                    <td key={title} class={form}>
                      {contents}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {isPart && <p class="quiet">Newest first. Once all are loaded, the heads sort them.</p>}
    </>
  );
}

function useSorted<Row>(
  columns: readonly DataColumn<Row>[],
  rows: readonly Row[],
  isPart: boolean,
  contents: unknown,
) {
  const [by, setBy] = useState<Pick<Sort, 'direction'> & { readonly title: string }>();
  const order = isPart ? undefined : columns.find(({ title }) => title === by?.title)?.order;
  const sign = by?.direction === 'descending' ? -1 : 1;
  const sorted = useMemo(() => {
    if (order === undefined) return rows;
    const keyed = rows.map((row) => ({ row, key: order(row) }));
    return keyed.sort((one, other) => compared(one.key, other.key, sign)).map(({ row }) => row);
  }, [rows, by, isPart, contents]);
  return {
    rows: sorted,
    columns: columns.map((column) => {
      const { title, order, sort } = column;
      if (isPart || order === undefined || sort !== undefined) return column;
      const direction = title === by?.title ? by.direction : undefined;
      const next = direction === 'ascending' ? 'descending' : 'ascending';
      return { ...column, sort: { direction, onSort: () => setBy({ title, direction: next }) } };
    }),
  };
}

type Key = string | number | bigint | undefined;

function compared(one: Key, other: Key, sign: number): number {
  if (one === undefined || other === undefined)
    return Number(one === undefined) - Number(other === undefined);
  if (typeof one === 'string' && typeof other === 'string')
    return sign * one.localeCompare(other, undefined, { numeric: true });
  return one === other ? 0 : one < other ? -sign : sign;
}

interface SecondProps<Row> {
  readonly columns: readonly DataColumn<Row>[];
  readonly row: Row;
  readonly index: number;
}

/** The second line of a row, below all its cells. */
function Second<Row>({ columns, row, index }: SecondProps<Row>) {
  const cells = columns.map((column) => ({ ...column, shown: column.cell(row, index) }));
  return (
    <span class="second">
      {cells
        .filter(({ shown }) => shown !== '–')
        .map(({ title, form, isSecond, shown }) => (
          <span key={title}>
            <span class={form === 'right' || isSecond === 'titled' ? undefined : 'unseen'}>{title} </span>
            {shown}
          </span>
        ))}
    </span>
  );
}

function headOf({
  title,
  head,
  form,
  sort,
}: Pick<DataColumn<never>, 'title' | 'head' | 'form' | 'sort'>): Head {
  if (form === 'actions') return [title, 'unseen'];
  return [title, form === 'right' ? form : undefined, sort, head];
}

import type { ComponentChildren } from 'preact';

/** The title of a column, with the side of its cells, or `unseen` for a title that only screen readers need. */
export type Head =
  | string
  | readonly [
      title: string,
      form: 'right' | 'unseen' | undefined,
      sort?: Sort | undefined,
      head?: ComponentChildren,
    ];

/** The order of the rows by a column. */
export interface Sort {
  /** Undefined: the rows are not in its order. */
  readonly direction: 'ascending' | 'descending' | undefined;
  /** Sorts by the column, or turns its order around where that is possible. */
  readonly onSort: () => void;
}

export function TableHead({ columns }: { readonly columns: readonly Head[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [title, form, sort, head] = typeof column === 'string' ? [column] : column;
          return (
            <th
              key={title}
              scope="col"
              class={form === 'right' ? 'right' : undefined}
              aria-sort={sort?.direction}
            >
              {head ??
                (form === 'unseen' ? (
                  <span class="unseen">{title}</span>
                ) : (
                  <Title title={title} sort={sort} />
                ))}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

const arrows = { ascending: ' ▴', descending: ' ▾' } as const;

function Title({ title, sort }: { readonly title: string; readonly sort: Sort | undefined }) {
  if (sort === undefined) return <>{title}</>;
  return (
    <button type="button" class="sort" onClick={sort.onSort}>
      {title}
      {sort.direction && <span aria-hidden="true">{arrows[sort.direction]}</span>}
    </button>
  );
}

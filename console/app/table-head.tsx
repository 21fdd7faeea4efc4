/** The title of a column, with the side of its cells, or `unseen` for a title that only screen readers need. */
export type Head = string | readonly [title: string, form: 'right' | 'unseen'];

export function TableHead({ columns }: { readonly columns: readonly Head[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [title, form] = typeof column === 'string' ? [column] : column;
          return (
            <th key={title} scope="col" class={form === 'right' ? 'right' : undefined}>
              {form === 'unseen' ? <span class="unseen">{title}</span> : title}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

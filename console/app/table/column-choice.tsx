/** The columns of a table that its reader has chosen, kept in the browser. */
import { useState } from 'preact/hooks';

interface Props {
  /** Of the table. */
  readonly label: string;
  readonly columns: readonly { readonly title: string; readonly rank?: number }[];
  readonly shown: readonly string[];
  /** Whether the width of the window decides. */
  readonly isAutomatic: boolean;
  readonly onChoose: (titles: readonly string[] | undefined) => void;
}

export function ColumnChoice({ label, columns, shown, isAutomatic, onChoose }: Props) {
  const [isOpen, setOpen] = useState(false);
  const titles = columns.filter(({ rank }) => rank).map(({ title }) => title);
  const toggle = (title: string) => onChoose(titles.filter((one) => shown.includes(one) !== (one === title)));
  return (
    <details class="column-choice" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={`Columns of ${label}`}>Columns</summary>
      {isOpen && (
        <fieldset class="checks">
          <legend class="unseen">Columns</legend>
          {titles.map((title) => (
            <label key={title}>
              <input type="checkbox" checked={shown.includes(title)} onChange={() => toggle(title)} /> {title}
            </label>
          ))}
          <button type="button" disabled={isAutomatic} onClick={() => onChoose(undefined)}>
            As many as fit
          </button>
        </fieldset>
      )}
    </details>
  );
}

/** Undefined: as many columns as fit. */
export function useChosenColumns(id: string) {
  const place = `parley-columns-${id}`;
  const [chosen, setChosen] = useState(() => localStorage.getItem(place)?.split('\n'));
  const choose = (titles: readonly string[] | undefined) => {
    if (titles === undefined) localStorage.removeItem(place);
    else localStorage.setItem(place, titles.join('\n'));
    setChosen(titles && [...titles]);
  };
  return [chosen, choose] as const;
}

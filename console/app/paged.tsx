/** A list that is loaded a page at a time. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { failureOf } from './api.ts';

export interface PageOf<T> {
  readonly items: readonly T[];
  /** The token of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

interface Props<T> {
  readonly first: PageOf<T>;
  readonly readMore: (token: string) => Promise<PageOf<T>>;
  /** @param isAll whether no further page follows */
  readonly children: (items: readonly T[], isAll: boolean) => ComponentChildren;
}

export function Paged<T>({ first, readMore, children }: Props<T>) {
  const [more, setMore] = useState(first);
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setMore(first), [first]);
  const { items, next } = more;
  const read = async (token: string) => {
    if (isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const page = await readMore(token);
      setMore({ items: [...items, ...page.items], next: page.next });
    } catch (error) {
      setProblem(failureOf(error).message);
    }
    setBusy(false);
  };
  return (
    <>
      {children(items, next === undefined)}
      {next !== undefined && (
        <p class="end">
          <button type="button" aria-disabled={isBusy} onClick={() => void read(next)}>
            {isBusy ? 'Loading…' : 'Load more'}
          </button>
        </p>
      )}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

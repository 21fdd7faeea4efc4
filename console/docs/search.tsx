/** Search over guides and reference. Its index is loaded when someone begins to search. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fetchJson } from './document.ts';
import { found, type SearchEntry } from './search-index.ts';

export function Search({ indexPath }: { readonly indexPath: string }) {
  const form = useRef<HTMLFormElement>(null);
  const [query, setQuery] = useState('');
  const [isOpen, setOpen] = useState(false);
  const { entries, failure, load } = useIndex(indexPath);
  const results = useMemo(() => found(entries ?? [], query), [entries, query]);
  useSlash(() => form.current?.querySelector('input')?.focus());
  const isAsked = query.trim() !== '';
  const close = () => {
    setOpen(false);
    form.current?.querySelector('input')?.focus();
  };
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        const [first] = results;
        if (first !== undefined) location.assign(first[2]);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
          event.preventDefault();
          moveFocus(form.current, event.key === 'ArrowDown' ? 1 : -1);
        }
      }}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node && form.current?.contains(relatedTarget))) setOpen(false);
      }}
    >
      <label for="search" class="unseen">
        Search
      </label>
      <input
        id="search"
        type="search"
        placeholder="Search ( / )"
        autocomplete="off"
        value={query}
        onFocus={load}
        onInput={({ currentTarget }) => {
          setQuery(currentTarget.value);
          setOpen(true);
        }}
      />
      <p role="status" class={isOpen && isAsked && results.length === 0 ? 'results none' : 'unseen'}>
        {isAsked && (failure ?? messageFor(query, entries, results.length))}
      </p>
      {isOpen && results.length > 0 && (
        <ul class="results" aria-label="Results">
          {results.map(([title, place, path]) => (
            <li key={path + title}>
              <a href={path} onClick={() => setOpen(false)}>
                <span>{title}</span> <small>{place}</small>
              </a>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

function messageFor(query: string, entries: readonly SearchEntry[] | undefined, count: number): string {
  if (entries === undefined) return 'Loading the index …';
  return count === 0 ? `No results for “${query}”.` : `${count} results`;
}

function useIndex(path: string) {
  const [entries, setEntries] = useState<readonly SearchEntry[]>();
  const [failure, setFailure] = useState<string>();
  const isAsked = useRef(false);
  const load = async () => {
    if (isAsked.current) return;
    isAsked.current = true;
    try {
      setEntries(await fetchJson<readonly SearchEntry[]>(path));
      setFailure(undefined);
    } catch (error) {
      isAsked.current = false;
      setFailure(`The index could not be loaded. ${error}`);
    }
  };
  return { entries, failure, load };
}

/** Between the field and its results. */
function moveFocus(form: HTMLFormElement | null, by: 1 | -1): void {
  const places = [...(form?.querySelectorAll<HTMLElement>('input, .results a') ?? [])];
  const at = places.findIndex((one) => one.matches(':focus'));
  places[Math.max(0, Math.min(places.length - 1, at + by))]?.focus();
}

function useSlash(focus: () => void): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event.target)) return;
      event.preventDefault();
      focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select');
}

/** The states of a part of a page: loading, failed, empty, shown. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf, isAborted } from './api.ts';
import { useConnectionLost } from './connection.ts';
import { Message } from './format.tsx';

export interface Loaded<T> {
  /** The last loaded value. It stays while a new one loads. */
  readonly value: T | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/** Loads when the page is shown, when the key changes, and when the server can be reached again. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'> & { readonly key: string }>({
    key,
    value: undefined,
    failure: undefined,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const isLost = useConnectionLost();
  const wasLost = useRef(isLost);
  useEffect(() => {
    if (wasLost.current && !isLost) setTurn((last) => last + 1);
    wasLost.current = isLost;
  }, [isLost]);
  useEffect(() => {
    const abort = new AbortController();
    setState((last) => ({ ...last, key, isLoading: true, value: last.key === key ? last.value : undefined }));
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ key, value, failure: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted || isAborted(error)) return;
        setState((last) => ({ ...last, failure: failureOf(error), isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [key, turn]);
  return { ...state, reload: () => setTurn((last) => last + 1) };
}

interface ShowProps<T> {
  readonly of: Loaded<T>;
  /** Name of the part, such as `the ledger`. */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

export function Show<T>({ of, what, children }: ShowProps<T>) {
  const { value, failure, isLoading, reload } = of;
  if (failure !== undefined && (value === undefined || failure.kind !== 'offline')) {
    return <Failed failure={failure} what={what} onRetry={reload} />;
  }
  if (value === undefined) return <Loading what={what} />;
  return <div aria-busy={isLoading}>{children(value)}</div>;
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading" role="status">
      <span class="unseen">Loading {what}…</span>
      <i />
      <i />
      <i />
    </div>
  );
}

interface FailedProps {
  readonly failure: Failure;
  readonly what: string;
  readonly onRetry: () => void;
}

function Failed({ failure, what, onRetry }: FailedProps) {
  return (
    <div class="state" role="alert">
      <strong>
        {failure.kind === 'forbidden'
          ? 'Your key may not do this.'
          : `${what.charAt(0).toUpperCase()}${what.slice(1)} could not be loaded.`}
      </strong>
      <p>
        <Message text={failure.message} />
      </p>
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="state">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

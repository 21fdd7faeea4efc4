/** The address of the page: its path and the filters in its query. */
import { useLayoutEffect, useState } from 'preact/hooks';

const base = '/console';
const changes = new EventTarget();

/** The path below `/console`, such as `/usage`; `/` for the first page. */
export function currentPath(): string {
  return location.pathname.slice(base.length).replace(/\/$/, '') || '/';
}

/** The address of a page, such as `/usage?model=eliza`. */
export function hrefOf(path: string): string {
  return path === '/' ? base : base + path;
}

export function navigate(href: string): void {
  history.pushState(null, '', href);
  changes.dispatchEvent(new Event('change'));
  scrollTo(0, 0);
  document.getElementById('content')?.focus();
}

/** Renders again whenever the address changes. */
export function usePath(): string {
  const [path, setPath] = useState(currentPath);
  useAddress(() => setPath(currentPath()));
  return path;
}

/** A filter in the query. Empty if it is missing; setting it to empty removes it. */
export function useQuery(name: string): readonly [string, (value: string) => void] {
  const read = () => new URLSearchParams(location.search).get(name) ?? '';
  const [value, setValue] = useState(read);
  useAddress(() => setValue(read()));
  const set = (next: string) => {
    const query = new URLSearchParams(location.search);
    if (next === '') query.delete(name);
    else query.set(name, next);
    const text = query.size === 0 ? '' : `?${query}`;
    history.replaceState(null, '', location.pathname + text);
    changes.dispatchEvent(new Event('change'));
  };
  return [value, set];
}

function useAddress(update: () => void): void {
  useLayoutEffect(() => {
    changes.addEventListener('change', update);
    window.addEventListener('popstate', update);
    return () => {
      changes.removeEventListener('change', update);
      window.removeEventListener('popstate', update);
    };
  }, []);
}

/** Follows links to other pages of the console without reloading the page. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    const { target, button, metaKey, ctrlKey, shiftKey, altKey } = event;
    const link = target instanceof Element ? target.closest('a') : null;
    const isPlain = button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey && !event.defaultPrevented;
    if (link === null || !isPlain || link.target !== '' || link.hasAttribute('download')) return;
    const { origin, pathname, search, hash } = new URL(link.href);
    const isOwn = origin === location.origin && (pathname === base || pathname.startsWith(`${base}/`));
    if (!isOwn || hash !== '') return;
    event.preventDefault();
    navigate(pathname + search);
  });
}

/** The keys of the reader. They stay in this tab. */
import { useLayoutEffect, useState } from 'preact/hooks';
import type { KeyKind } from './document.ts';

const changed = new EventTarget();

export const keyNames: Readonly<Record<KeyKind, string>> = { apiKey: 'API key', adminKey: 'Admin key' };

export function useKey(kind: KeyKind): readonly [string, (key: string) => void] {
  const read = () => sessionStorage.getItem(`parley-${kind}`) ?? '';
  const [key, setKey] = useState(read);
  // Before the browser paints: whoever types into the field changes it for all.
  useLayoutEffect(() => {
    const update = () => setKey(read());
    changed.addEventListener(kind, update);
    return () => changed.removeEventListener(kind, update);
  }, [kind]);
  const set = (next: string) => {
    sessionStorage.setItem(`parley-${kind}`, next.trim());
    changed.dispatchEvent(new Event(kind));
  };
  return [key, set];
}

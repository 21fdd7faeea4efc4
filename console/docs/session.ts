/** The reader's session in the console, with which the forms send their requests. Scripts cannot read its key. */
import { useLayoutEffect, useState } from 'preact/hooks';
import type { KeyKind } from './document.ts';

interface SignedIn {
  readonly signed_in: true;
  readonly kind: 'account' | 'admin';
  readonly key: { readonly name: string; readonly prefix: string; readonly last_four: string };
}

const changes = new EventTarget();
let current: SignedIn | undefined;

/** @returns whether this port has a console */
export async function loadSession(): Promise<boolean> {
  const response = await fetch('/console/session').catch(() => undefined);
  if (!response?.ok) return false;
  const session = (await response.json()) as SignedIn | { readonly signed_in: false };
  current = session.signed_in ? session : undefined;
  changes.dispatchEvent(new Event('change'));
  return true;
}

/** The key of the session, if it is of the kind that an operation needs. */
export function useSessionKey(kind: KeyKind | undefined): SignedIn['key'] | undefined {
  const [session, setSession] = useState(current);
  useLayoutEffect(() => {
    const update = () => setSession(current);
    changes.addEventListener('change', update);
    return () => changes.removeEventListener('change', update);
  }, []);
  const needed = kind === 'adminKey' ? 'admin' : 'account';
  return kind !== undefined && session?.kind === needed ? session.key : undefined;
}

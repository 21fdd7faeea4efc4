/** The session of the signed-in key. Scripts cannot read its cookie. */
import { useLayoutEffect, useState } from 'preact/hooks';

export interface SessionKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly last_four: string;
  readonly scopes: readonly string[];
  readonly created_at: string;
  readonly expires_at: string | null;
}

export interface SignedIn {
  readonly signed_in: true;
  readonly kind: 'account' | 'admin';
  readonly account_name: string | null;
  /** Whether a person has signed in with an identity provider. */
  readonly is_person: boolean;
  /** All that an operator's key may do. Empty for a key of an account. */
  readonly admin_scopes: readonly string[];
  /** The name of the identity provider. */
  readonly provider?: string;
  readonly key: SessionKey;
}

/** Whether an operator's key may make calls that need a scope. */
export function mayDo({ admin_scopes }: SignedIn, scope: string): boolean {
  return admin_scopes.includes(scope);
}

export interface SignedOut {
  readonly signed_in: false;
  /** Why the session ended, if not by signing out. */
  readonly reason?: string;
  /** The name of the identity provider. */
  readonly provider?: string;
}

export type Session = SignedIn | SignedOut;

const path = '/console/session';
const changes = new EventTarget();
let current: Session | undefined;

function set(session: Session): void {
  current = session;
  changes.dispatchEvent(new Event('change'));
}

/** Undefined until the server has answered. */
export function useSession(): Session | undefined {
  const [session, setSession] = useState(current);
  useLayoutEffect(() => {
    const update = () => setSession(current);
    changes.addEventListener('change', update);
    return () => changes.removeEventListener('change', update);
  }, []);
  return session;
}

/**
 * Asks the server.
 * @throws TypeError if it cannot be reached
 */
export async function loadSession(): Promise<void> {
  const response = await fetch(path);
  set(
    response.ok
      ? ((await response.json()) as Session)
      : { signed_in: false, reason: await wordsOf(response) },
  );
}

/** @throws Error with the server's message; TypeError if it cannot be reached */
export async function signIn(key: string): Promise<void> {
  // Headers accept only these characters, and keys have no others.
  const headers = { authorization: `Bearer ${key.trim().replace(/[^\x20-\x7e]/g, '?')}` };
  const response = await fetch(path, { method: 'POST', headers });
  if (response.status === 401) throw new Error('This key is unknown, expired or revoked.');
  if (!response.ok) throw new Error(await wordsOf(response));
  set((await response.json()) as Session);
}

/**
 * Exchanges an invitation for a key.
 * @returns the key's secret, and a function that goes on to the person's pages
 * @throws Error with the server's message; TypeError if it cannot be reached
 */
export async function acceptInvitation(secret: string) {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${path}/accept`, { method: 'POST', headers });
  if (!response.ok) throw new Error(await wordsOf(response));
  const { secret: key, ...session } = (await response.json()) as SignedIn & { readonly secret: string };
  return { secret: key, enter: () => set(session) };
}

export async function signOut(): Promise<void> {
  await fetch(`${path}/end`, { method: 'POST' });
  leave();
}

export function endSession(reason: string): void {
  if (current?.signed_in) leave({ reason });
}

function leave(why: Pick<SignedOut, 'reason'> = {}): void {
  set({ signed_in: false, ...(current?.provider !== undefined && { provider: current.provider }), ...why });
}

async function wordsOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return error.message;
  } catch {
    return `The server answered with status ${response.status}.`;
  }
}

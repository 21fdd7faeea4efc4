import { KeyList } from '../keys/key-list.tsx';
import { adminKeys } from '../keys/key-owner.ts';
import type { SignedIn } from '../session.ts';

export function AdminKeysPage({ session: { key } }: { readonly session: SignedIn }) {
  return (
    <>
      <h1>Admin keys</h1>
      <p class="quiet">Anyone with one of these keys can do everything that you can do here.</p>
      <KeyList owner={adminKeys(key.id)} />
    </>
  );
}

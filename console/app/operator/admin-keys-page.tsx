import { KeyList } from '../keys/key-list.tsx';
import { adminKeys } from '../keys/key-owner.ts';
import type { SignedIn } from '../session.ts';

export function AdminKeysPage({ session }: { readonly session: SignedIn }) {
  return (
    <>
      <h1>Admin keys</h1>
      <p class="quiet">A key without scopes can do everything. Others can do what their scopes name.</p>
      <KeyList owner={adminKeys(session.admin_scopes, session.key.id)} />
    </>
  );
}

import { admin } from '../api.ts';
import { allKeys } from '../keys/all-keys.ts';
import { KeyList } from '../keys/key-list.tsx';
import { adminKeys } from '../keys/key-owner.ts';
import type { SignedIn } from '../session.ts';
import { useLoaded } from '../states.tsx';

export function AdminKeysPage({ session: { key } }: { readonly session: SignedIn }) {
  const keys = useLoaded('admin keys', (signal) => allKeys((page) => admin.listAdminKeys(page, { signal })));
  return (
    <>
      <h1>Admin keys</h1>
      <p class="quiet">Whoever has one of these can do all that you can do here.</p>
      <KeyList keys={keys} owner={adminKeys(key.id)} />
    </>
  );
}

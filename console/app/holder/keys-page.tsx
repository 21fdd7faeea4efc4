/** The keys of the account for a key that can manage keys; for others only their own key. */
import { management } from '../api.ts';
import { KeyFacts } from '../keys/key-facts.tsx';
import { KeyList } from '../keys/key-list.tsx';
import { ownKeys } from '../keys/key-owner.ts';
import type { SignedIn } from '../session.ts';
import { Show, useLoaded } from '../states.tsx';

export function KeysPage({ session: { key } }: { readonly session: SignedIn }) {
  return (
    <>
      <h1>Keys</h1>
      {key.scopes.includes('manage') ? <AllKeys of={key} /> : <OwnKey />}
    </>
  );
}

function AllKeys({ of: { id, scopes } }: { readonly of: SignedIn['key'] }) {
  return (
    <>
      <KeyList owner={ownKeys(scopes, id)} />
      <p class="quiet">
        With a separate key for each program, each can be limited and revoked on its own. No key can give
        another more than it has.
      </p>
    </>
  );
}

function OwnKey() {
  const own = useLoaded('own key', async (signal) => (await management.getKey({}, { signal })).key);
  return (
    <>
      <Show of={own} what="your key">
        {(key) =>
          key && (
            <section class="card">
              <h2>{key.name}</h2>
              <p>
                <span class="badge ok">you signed in with it</span>
              </p>
              <KeyFacts of={key} />
            </section>
          )
        }
      </Show>
      <section class="card">
        <h2>Other keys</h2>
        <p>
          To create, limit, rotate and revoke the keys of your account here, sign in with a key that has the
          scope <code>manage</code>. The operator of this server creates the first one.
        </p>
        <p class="quiet">
          If others may have seen this key, have it revoked at once. This session ends with it.
        </p>
      </section>
    </>
  );
}

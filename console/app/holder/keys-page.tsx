import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Day, spanText } from '../format.tsx';
import type { SignedIn } from '../session.ts';

/** A holder sees the key of the session. Making and revoking keys is the operator's work. */
export function KeysPage({ session: { key } }: { readonly session: SignedIn }) {
  const created = new Date(key.created_at);
  const expires = key.expires_at === null ? undefined : new Date(key.expires_at);
  return (
    <>
      <h1>Keys</h1>
      <section class="card">
        <h2>{key.name}</h2>
        <p>
          <span class="badge ok">you signed in with it</span>
        </p>
        <dl class="facts">
          <div>
            <dt>Key</dt>
            <dd>
              <code>
                {key.prefix}…{key.last_four}
              </code>
            </dd>
          </div>
          <div>
            <dt>Id</dt>
            <dd>
              <code>{key.id}</code>
            </dd>
          </div>
          <div>
            <dt>May call</dt>
            <dd>
              {key.scopes.map((scope) => (
                <span key={scope} class="badge">
                  {scope}
                </span>
              ))}
            </dd>
          </div>
          <div>
            <dt>Made</dt>
            <dd>
              <Day at={timestampFromDate(created)} />
            </dd>
          </div>
          <div>
            <dt>Expires</dt>
            <dd>
              {expires === undefined ? (
                'never'
              ) : (
                <>
                  <Day at={expires} /> ({spanText(expires)})
                </>
              )}
            </dd>
          </div>
        </dl>
      </section>
      <section class="card">
        <h2>Other keys</h2>
        <p>
          The operator of this server makes, rotates and revokes the keys of your account. Ask for a key of
          its own for each program: then one of them can be revoked without the others.
        </p>
        <p class="quiet">
          If this key may have been seen by others, ask to have it revoked at once. This session ends with it.
        </p>
      </section>
    </>
  );
}

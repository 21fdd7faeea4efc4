/** Shows the sign-in page, or the pages for the signed-in key. */
import { useEffect, useState } from 'preact/hooks';
import { useConnectionLost } from './connection.ts';
import { later } from './later.tsx';
import { pagesFor } from './pages.tsx';
import { usePath } from './router.ts';
import { loadSession, type SignedIn, useSession } from './session.ts';
import { Shell } from './shell.tsx';
import { SignInPage } from './sign-in-page.tsx';
import { Loading } from './states.tsx';

const InvitationPage = later(
  'the invitation',
  async () => (await import('./invitation-page.tsx')).InvitationPage,
);

export function Console() {
  const isInvited = usePath() === '/invitation';
  const session = useSession();
  const [failure, setFailure] = useState<string>();
  const load = () => {
    setFailure(undefined);
    loadSession().catch(() => setFailure('The server cannot be reached.'));
  };
  useEffect(load, []);
  if (failure !== undefined && session === undefined) {
    return (
      <main class="centre">
        <p role="alert">{failure}</p>
        <button type="button" onClick={load}>
          Try again
        </button>
      </main>
    );
  }
  if (session === undefined) {
    return (
      <main class="centre">
        <Loading what="the console" />
      </main>
    );
  }
  if (isInvited) return <InvitationPage />;
  return session.signed_in ? <Pages session={session} /> : <SignInPage session={session} />;
}

function Pages({ session }: { readonly session: SignedIn }) {
  const path = usePath();
  const isLost = useConnectionLost();
  const pages = pagesFor(session);
  const page = pages.find(({ matches }) => matches.test(path));
  useEffect(() => {
    document.title = `${page?.title ?? 'Not found'} · Parley`;
  }, [page]);
  return (
    <Shell session={session} pages={pages} current={page} isLost={isLost}>
      {page === undefined ? (
        <>
          <h1>Not found</h1>
          <p>
            The console has no such page. <a href="/console">Go to the home page.</a>
          </p>
        </>
      ) : (
        page.show({ session, path })
      )}
    </Shell>
  );
}

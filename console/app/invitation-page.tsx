/** Where the link of an invitation leads: it makes the person's key, shows it once, and signs them in. */
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from '../shared/copy-button.tsx';
import { CallForm } from './dialog.tsx';
import { navigate } from './router.ts';
import { acceptInvitation } from './session.ts';
import { Mark } from './sign-in-page.tsx';

type Accepted = Awaited<ReturnType<typeof acceptInvitation>>;

export function InvitationPage() {
  const [secret] = useState(takeSecret);
  const [accepted, setAccepted] = useState<Accepted>();
  return (
    <main class="centre">
      <section class="sign-in card">
        <h1>
          <Mark /> Parley
        </h1>
        {accepted !== undefined ? (
          <NewKey of={accepted} />
        ) : secret === '' ? (
          <p>
            Open the link of your invitation again to accept it. If you have a key,{' '}
            <a href="/console">sign in</a>.
          </p>
        ) : (
          <CallForm
            action="Accept the invitation"
            onSubmit={async () => setAccepted(await acceptInvitation(secret))}
          >
            <p>
              You are invited to this console. Accepting makes your own key and signs you in. The link works
              once.
            </p>
          </CallForm>
        )}
      </section>
    </main>
  );
}

/** The history of the browser and those who look over a shoulder do not need it. */
function takeSecret(): string {
  const secret = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  return secret;
}

/** The browser asks before it leaves the key, which cannot be shown again. */
function askFirst(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function NewKey({ of: { secret, enter } }: { readonly of: Accepted }) {
  useEffect(() => {
    addEventListener('beforeunload', askFirst);
    return () => removeEventListener('beforeunload', askFirst);
  }, []);
  const open = (event: SubmitEvent) => {
    event.preventDefault();
    navigate('/console');
    enter();
  };
  return (
    <form onSubmit={open}>
      <p>
        This is your key. Keep it, as in a password manager: it signs you in next time, and is shown only now.
      </p>
      <p class="secret">
        <input
          aria-label="Your key"
          name="key"
          autocomplete="new-password"
          readOnly
          value={secret}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <CopyButton text={secret} />
      </p>
      <button type="submit" class="primary wide">
        I have stored it
      </button>
    </form>
  );
}

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ThemeChoice } from '../shared/theme-choice.tsx';
import { type SignedOut, signIn } from './session.ts';

/** The outcome of a sign-in with the identity provider, which the server names in the URL. */
const outcomes: Readonly<Record<string, string>> = {
  refused: 'You have no access to this console. Ask the operator of this server.',
  failed: 'The sign-in failed or took too long. Try again.',
};

export function SignInPage({ session }: { readonly session: SignedOut }) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState(
    session.reason ?? outcomes[new URLSearchParams(location.search).get('sign_in') ?? ''],
  );
  const [isBusy, setBusy] = useState(false);
  // The field is the purpose of this page.
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    // A key may come with the scheme of the header that it was copied from.
    const key = input.current?.value.trim().replace(/^Bearer\s+/i, '') ?? '';
    if (key === '') return setProblem('Enter a key.');
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(key);
    } catch (error) {
      setProblem(
        error instanceof TypeError ? 'The server cannot be reached. Try again.' : (error as Error).message,
      );
      input.current?.focus();
    }
    setBusy(false);
  };
  return (
    <main class="centre">
      <form class="sign-in card" onSubmit={submit}>
        <h1>
          <Mark /> Parley
        </h1>
        <p class="quiet">Speech, transcription and chat on your own server.</p>
        <div class="field">
          <label for={id}>API key or admin key</label>
          <input
            id={id}
            ref={input}
            type="password"
            name="key"
            autocomplete="current-password"
            spellcheck={false}
            placeholder="pk_… or pa_…"
            aria-describedby={problem === undefined ? undefined : `${id}-problem`}
            aria-invalid={problem !== undefined}
          />
        </div>
        <p id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </p>
        <button class="primary wide" type="submit" aria-disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        {session.provider !== undefined && (
          <p>
            <a href="/console/oidc/sign-in" target="_self">
              Sign in with {session.provider}
            </a>
          </p>
        )}
        <details>
          <summary>Where do I get a key?</summary>
          <p>
            The operator of this server makes one with <code>parley key create --account NAME</code>, and an
            admin key with <code>parley key create --admin</code>. The keys of a demo are in{' '}
            <code>first-run.json</code> in its data folder.
          </p>
        </details>
      </form>
      <p class="quiet foot">
        <a href="/docs">Reference</a> <ThemeChoice />
      </p>
    </main>
  );
}

/** A drawn wave: the mark of Parley. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M8 20v-8M13 23V9M18 19v-6M23 22V10" />
    </svg>
  );
}

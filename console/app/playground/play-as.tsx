/** Lets an operator play as an account, with a key of that account for an hour: admin keys have no account. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import { admin } from '../api.ts';
import { CallForm } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { Time } from '../format.tsx';
import { useQuery } from '../router.ts';
import type { SignedIn } from '../session.ts';
import { useLoaded } from '../states.tsx';
import { clientsWith, PlayContext } from './clients.ts';

const keyName = 'playground of the console';
const scopes = ['speech', 'transcription', 'chat'];
const keyMs = 3_600_000;
const suggestionsMax = 20;

interface Playing {
  readonly account: string;
  readonly keyId: string;
  readonly secret: string;
  readonly endsAt: Date;
}

/** Keys live in the memory of the page, as long as the session. */
const keys = new WeakMap<SignedIn, Playing>();

interface Props {
  readonly session: SignedIn;
  readonly children: (account: string) => ComponentChildren;
}

export function PlayAs({ session, children }: Props) {
  const [playing, setPlaying] = useState(keys.get(session));
  const [notice, setNotice] = useState<string>();
  const begin = (next: Playing) => {
    keys.set(session, next);
    setPlaying(next);
    setNotice(undefined);
  };
  const end = (why?: string) => {
    keys.delete(session);
    setPlaying(undefined);
    setNotice(why);
  };
  const clients = useMemo(() => {
    const ended = () => {
      // A late answer to an earlier key does not end this one.
      if (keys.get(session) === playing) end('The key has ended. Play again for a new one.');
    };
    return playing && clientsWith(playing.secret, ended);
  }, [playing]);
  if (playing === undefined || clients === undefined) return <Begin notice={notice} onBegin={begin} />;
  const { account, keyId, endsAt } = playing;
  const stop = async () => {
    end();
    // A key that cannot be revoked now ends by itself.
    await admin.revokeKey({ keyId }).catch(() => undefined);
  };
  return (
    <PlayContext.Provider key={keyId} value={clients}>
      <p class="notes playing">
        <span>
          You play as <strong>{account}</strong>: its credits pay, its limits apply. The key ends at{' '}
          <Time at={endsAt} />.
        </span>
        <button type="button" onClick={() => void stop()}>
          Stop playing
        </button>
      </p>
      {children(account)}
    </PlayContext.Provider>
  );
}

interface BeginProps {
  readonly notice: string | undefined;
  readonly onBegin: (playing: Playing) => void;
}

function Begin({ notice, onBegin }: BeginProps) {
  const [account, setAccount] = useQuery('account');
  const list = useId();
  const part = account.trim();
  const found = useLoaded(`accounts ${part}`, (signal) =>
    admin.listAccounts({ pageSize: suggestionsMax, ...(part !== '' && { nameContains: part }) }, { signal }),
  );
  const begin = async () => {
    const endsAt = new Date(Date.now() + keyMs);
    const made = await admin.createKey({
      accountId: part,
      name: keyName,
      scopes,
      expiresAt: timestampFromDate(endsAt),
    });
    onBegin({ account: part, keyId: made.key?.id ?? '', secret: made.secret, endsAt });
  };
  return (
    <section class="card" aria-label="Play as an account">
      <h2>Play as an account</h2>
      <p role="status">{notice}</p>
      <p>
        An admin key has no account and cannot call models. The console makes a key of the account you choose,
        for speech, transcription and chat, named “{keyName}”. It lasts an hour, and the audit trail has it.
      </p>
      <CallForm action="Play" onSubmit={begin}>
        <Field
          label="Account"
          name="account_id"
          required
          maxLength={100}
          autocomplete="off"
          list={list}
          value={account}
          onInput={({ currentTarget }) => setAccount(currentTarget.value)}
        />
        <datalist id={list}>
          {found.value?.accounts.map(({ id, name }) => (
            <option key={id} value={name} />
          ))}
        </datalist>
      </CallForm>
    </section>
  );
}

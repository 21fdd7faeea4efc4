/** The actions on a key, each in a dialog. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { useState } from 'preact/hooks';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Choice, Field } from '../fields.tsx';
import { LimitFields, limitsOf } from '../limits/limit-fields.tsx';
import { Show, useLoaded } from '../states.tsx';
import type { Invited, IssuedKey, KeyOwner } from './key-owner.ts';

interface Props {
  readonly owner: KeyOwner;
  readonly onClose: () => void;
  readonly onDone: (issued?: IssuedKey) => void;
}

interface KeyProps extends Props {
  readonly of: Key;
}

const text = (values: FormData, name: string) => String(values.get(name) ?? '').trim();

/** The key of this session, which bounds new ones; undefined for an operator. */
function ownKey({ ownId }: KeyOwner, keys: readonly Key[] = []): Pick<Key, 'limits'> | undefined {
  return ownId === undefined ? undefined : (keys.find(({ id }) => id === ownId) ?? {});
}

/** @throws Error if the key could call nothing */
function wantedOf(values: FormData, { isLimited }: KeyOwner) {
  const scopes = values.getAll('scopes').map(String);
  if (isLimited && scopes.length === 0) throw new Error('Choose what the key may call.');
  const expires = text(values, 'expires_at');
  const end = expires === '' ? {} : { expiresAt: timestampFromDate(new Date(expires)) };
  return { name: text(values, 'name'), scopes, ...end };
}

function ScopeChecks({ owner }: Pick<Props, 'owner'>) {
  return (
    <fieldset class="checks">
      <legend>{owner.isLimited ? 'The key may call' : 'Scopes (none: all that your key may do)'}</legend>
      {owner.scopes.map((scope) => (
        <label key={scope}>
          <input
            type="checkbox"
            name="scopes"
            value={scope}
            defaultChecked={owner.isLimited && scope !== 'manage'}
          />{' '}
          {scope === 'manage' ? 'manage: create, limit, rotate and revoke keys' : scope}
        </label>
      ))}
    </fieldset>
  );
}

interface InviteProps extends Omit<Props, 'onDone'> {
  readonly onInvited: (invited: Invited) => void;
}

export function InviteDialog({ owner, onClose, onInvited }: InviteProps) {
  const send = async (values: FormData) => {
    const mailAddress = text(values, 'mail_address');
    const mail = mailAddress === '' ? {} : { mailAddress };
    const consoleUrl = text(values, 'console_url');
    const made = await owner.invite?.({ ...wantedOf(values, owner), consoleUrl, ...mail });
    if (made) onInvited({ ...made, ...mail });
  };
  return (
    <Dialog title="Invite a person" onClose={onClose}>
      <CallForm action="Make the link" onSubmit={send}>
        <p>The link makes a key for the person, once, and signs them in to this console.</p>
        <Field
          label="Name"
          name="name"
          required
          maxLength={100}
          autocomplete="off"
          hint="Their key gets it"
        />
        <ScopeChecks owner={owner} />
        <Field label="The link ends on (UTC)" name="expires_at" type="date" hint="Empty: in 7 days" />
        <Field
          label="Address of the console"
          name="console_url"
          type="url"
          required
          defaultValue={location.origin}
          hint={owner.isLimited ? 'The one that holders of accounts open' : undefined}
        />
        <Field
          label="Mail it to"
          name="mail_address"
          type="email"
          autocomplete="off"
          hint="Needs a server that sends mail. Empty: copy the link"
        />
      </CallForm>
    </Dialog>
  );
}

interface NewProps extends Props {
  readonly keys: readonly Key[] | undefined;
}

export function NewKeyDialog({ owner, keys, onClose, onDone }: NewProps) {
  const make = async (values: FormData) => {
    const limits = limitsOf(values);
    onDone(await owner.create({ ...wantedOf(values, owner), ...(limits && { limits }) }));
  };
  return (
    <Dialog title={owner.isLimited ? 'New key' : 'New admin key'} onClose={onClose}>
      <CallForm action="Create the key" onSubmit={make}>
        <Field
          label="Name"
          name="name"
          required
          maxLength={100}
          autocomplete="off"
          hint="The person or program that uses it"
        />
        <ScopeChecks owner={owner} />
        <Field
          label="Expires on (UTC)"
          name="expires_at"
          type="date"
          hint={
            owner.ownId === undefined || !owner.isLimited
              ? 'Empty: never'
              : 'Empty: with the key of this session'
          }
        />
        {owner.isLimited && (
          <details>
            <summary>Limits</summary>
            <LimitFields own={ownKey(owner, keys)} />
          </details>
        )}
      </CallForm>
    </Dialog>
  );
}

export function LimitsDialog({ of: key, owner, onClose, onDone }: KeyProps) {
  // The list may be old, and the form replaces all limits.
  const keys = useLoaded(`limits ${key.id}`, owner.list);
  return (
    <Dialog title={`Limits of ${key.name}`} onClose={onClose}>
      <Show of={keys} what="the limits">
        {(all) => (
          <CallForm
            action="Set the limits"
            onSubmit={async (values) => {
              await owner.setLimits(key.id, limitsOf(values));
              onDone();
            }}
          >
            {key.id === owner.ownId && (
              <p>You are signed in with this key: it can narrow its own limits, but not widen them again.</p>
            )}
            <LimitFields limits={all.find(({ id }) => id === key.id)?.limits} own={ownKey(owner, all)} />
          </CallForm>
        )}
      </Show>
    </Dialog>
  );
}

export function RotateDialog({ of: key, owner, onClose, onDone }: KeyProps) {
  const [seconds, setSeconds] = useState('3600');
  return (
    <Dialog title={`Rotate ${key.name}`} onClose={onClose}>
      <CallForm
        action="Create the new key"
        onSubmit={async () => onDone(await owner.rotate(key.id, Number(seconds)))}
      >
        <p>A new key replaces this one, with the same name, rights, limits and expiry.</p>
        {key.id === owner.ownId && <p>You are signed in with this key: the session ends with it.</p>}
        <Choice
          label="The old key ends"
          value={seconds}
          onChange={setSeconds}
          options={[
            ['0', 'at once'],
            ['3600', 'after one hour'],
            ['86400', 'after one day'],
            ['604800', 'after one week'],
            ['2592000', 'after 30 days'],
          ]}
        />
      </CallForm>
    </Dialog>
  );
}

export function RevokeDialog({ of: key, owner, onClose, onDone }: KeyProps) {
  return (
    <Dialog title={`Revoke ${key.name}`} onClose={onClose}>
      <CallForm
        action="Revoke the key"
        isGrave
        onSubmit={async () => {
          await owner.revoke(key.id);
          onDone();
        }}
      >
        <p>Requests with this key are refused from then on. This cannot be undone.</p>
        {key.id === owner.ownId && <p>You are signed in with this key: the session ends with it.</p>}
      </CallForm>
    </Dialog>
  );
}

/** Keys, with buttons to rotate and revoke them. */

import { timestampDate } from '@bufbuild/protobuf/wkt';
import { useState } from 'preact/hooks';
import type { Key } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Choice } from '../fields.tsx';
import { Day, spanText } from '../format.tsx';
import { Scroll } from '../scroll.tsx';
import { Empty } from '../states.tsx';
import { TableHead } from '../table-head.tsx';
import { SecretDialog } from './secret-dialog.tsx';

interface Props {
  readonly keys: readonly Key[];
  readonly onChange: () => void;
}

type Step =
  | { readonly what: 'revoke' | 'rotate'; readonly key: Key }
  | { readonly what: 'shown'; readonly secret: string };

export function KeyTable({ keys, onChange }: Props) {
  const [step, setStep] = useState<Step>();
  const close = () => setStep(undefined);
  if (keys.length === 0) return <Empty title="There are no keys." />;
  return (
    <>
      <Scroll label="Keys">
        <table class="rows">
          <TableHead columns={['Name', 'Key', 'May call', 'Made', 'State', ['Actions', 'unseen']]} />
          <tbody>
            {keys.map((key) => (
              <Row key={key.id} of={key} onStep={setStep} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {step?.what === 'revoke' && (
        <Dialog title={`Revoke ${step.key.name}`} onClose={close}>
          <CallForm
            action="Revoke the key"
            isGrave
            onSubmit={async () => {
              await admin.revokeKey({ keyId: step.key.id });
              close();
              onChange();
            }}
          >
            <p>Requests with this key are refused from then on. This cannot be undone.</p>
          </CallForm>
        </Dialog>
      )}
      {step?.what === 'rotate' && (
        <Rotate
          of={step.key}
          onClose={close}
          onRotated={(secret) => {
            setStep({ what: 'shown', secret });
            onChange();
          }}
        />
      )}
      {step?.what === 'shown' && <SecretDialog secret={step.secret} onClose={close} />}
    </>
  );
}

function Row({ of: key, onStep }: { readonly of: Key; readonly onStep: (step: Step) => void }) {
  const isLive = endOf(key) === undefined;
  return (
    <tr>
      <th scope="row">{key.name}</th>
      <td>
        <code>
          {key.prefix}…{key.lastFour}
        </code>
      </td>
      <td>{key.scopes.length === 0 ? 'administration' : key.scopes.join(', ')}</td>
      <td>{key.createdAt && <Day at={key.createdAt} />}</td>
      <td>
        <span class={`badge ${isLive ? 'ok' : 'refused'}`}>{endOf(key) ?? lifeOf(key)}</span>
      </td>
      <td class="right">
        {isLive && (
          <>
            <button
              type="button"
              aria-label={`Rotate ${key.name}`}
              onClick={() => onStep({ what: 'rotate', key })}
            >
              Rotate
            </button>{' '}
            <button
              type="button"
              aria-label={`Revoke ${key.name}`}
              onClick={() => onStep({ what: 'revoke', key })}
            >
              Revoke
            </button>
          </>
        )}
      </td>
    </tr>
  );
}

function endOf({ revokedAt, expiresAt }: Key): string | undefined {
  if (revokedAt !== undefined) return `revoked ${spanText(timestampDate(revokedAt))}`;
  const isPast = expiresAt !== undefined && timestampDate(expiresAt).getTime() <= Date.now();
  return isPast ? 'expired' : undefined;
}

function lifeOf({ expiresAt }: Key): string {
  return expiresAt === undefined ? 'live' : `expires ${spanText(timestampDate(expiresAt))}`;
}

interface RotateProps {
  readonly of: Key;
  readonly onClose: () => void;
  readonly onRotated: (secret: string) => void;
}

function Rotate({ of: key, onClose, onRotated }: RotateProps) {
  const [seconds, setSeconds] = useState('3600');
  return (
    <Dialog title={`Rotate ${key.name}`} onClose={onClose}>
      <CallForm
        action="Make the new key"
        onSubmit={async () => {
          const { secret } = await admin.rotateKey({ keyId: key.id, overlapSeconds: Number(seconds) });
          onRotated(secret);
        }}
      >
        <p>A new key takes the place of this one, with the same name and rights.</p>
        <Choice
          label="The old key works for"
          value={seconds}
          onChange={setSeconds}
          options={[
            ['0', 'not any longer'],
            ['3600', 'one more hour'],
            ['86400', 'one more day'],
            ['604800', 'one more week'],
            ['2592000', '30 more days'],
          ]}
        />
      </CallForm>
    </Dialog>
  );
}

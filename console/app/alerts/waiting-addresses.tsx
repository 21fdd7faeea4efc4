/** Addresses of mail that wait for their confirmation, with the form that takes the code. */
import type { WaitingAddress } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { CallForm } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { Time } from '../format.tsx';
import type { AlertOwner } from './alert-owner.ts';
import { SendButton } from './send-button.tsx';

interface Props {
  readonly of: readonly WaitingAddress[];
  readonly owner: AlertOwner;
  readonly isReadOnly: boolean;
  readonly onChanged: () => void;
}

export function WaitingAddresses({ of: addresses, owner, isReadOnly, onChanged }: Props) {
  return (
    <section class="notes" aria-label="Addresses that wait for confirmation">
      <ul>
        {addresses.map((waiting) => (
          <li key={waiting.address}>
            <strong>{waiting.address}</strong> <span class="badge refused">waiting for confirmation</span>{' '}
            <Sent of={waiting} />{' '}
            {!isReadOnly && <SendAgain address={waiting.address} owner={owner} onChanged={onChanged} />}
          </li>
        ))}
      </ul>
      {!isReadOnly && (
        <CallForm
          action="Confirm"
          onSubmit={async (values) => {
            await owner.confirm(String(values.get('code')));
            onChanged();
          }}
        >
          <Field
            label="Code"
            name="code"
            required
            autocomplete="one-time-code"
            spellcheck={false}
            hint="In the mail to the address. Alerts are mailed to it from then on."
          />
        </CallForm>
      )}
    </section>
  );
}

function Sent({ of: { sentAt, lastFailure } }: { readonly of: WaitingAddress }) {
  if (sentAt === undefined) return <>{lastFailure ?? 'No code was sent yet.'}</>;
  return (
    <>
      A code was sent <Time at={sentAt} />, and is valid for 24 hours. {lastFailure}
    </>
  );
}

interface SendProps extends Pick<Props, 'owner' | 'onChanged'> {
  readonly address: string;
}

function SendAgain({ address, owner, onChanged }: SendProps) {
  const send = async () => {
    const { lastFailure = 'Sent.' } = (await owner.sendCode(address)) ?? {};
    onChanged();
    return lastFailure;
  };
  return (
    <SendButton send={send} more={<span class="unseen"> to {address}</span>}>
      Send again
    </SendButton>
  );
}

/** Keys in a card, with the actions on each. */
import { useState } from 'preact/hooks';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { Dialog } from '../dialog.tsx';
import { Empty, type Loaded, Show, useLoaded } from '../states.tsx';
import { InviteDialog, LimitsDialog, NewKeyDialog, RevokeDialog, RotateDialog } from './key-dialogs.tsx';
import { KeyFacts } from './key-facts.tsx';
import type { Invited, IssuedKey, KeyOwner, KeyStep } from './key-owner.ts';
import { KeyTable } from './key-table.tsx';
import { SecretDialog } from './secret-dialog.tsx';

interface Props {
  readonly owner: KeyOwner;
  /** A deleted account gets no new keys. */
  readonly isDeleted?: boolean;
}

export function KeyList({ owner, isDeleted = false }: Props) {
  const keys = useLoaded(`keys ${owner.accountId}`, owner.list);
  const [step, setStep] = useState<KeyStep>();
  return (
    <section class="card">
      <div class="title">
        <h2>Keys</h2>
        {!isDeleted && (
          <>
            {owner.invite && (
              <button type="button" onClick={() => setStep({ what: 'invite' })}>
                Invite a person
              </button>
            )}
            <button type="button" onClick={() => setStep({ what: 'make' })}>
              {owner.isLimited ? 'New key' : 'New admin key'}
            </button>
          </>
        )}
      </div>
      <Show of={keys} what="the keys">
        {(value) =>
          value.length === 0 ? (
            <Empty title="There are no keys." />
          ) : (
            <KeyTable keys={value} owner={owner} onStep={setStep} />
          )
        }
      </Show>
      {step !== undefined && <Step step={step} owner={owner} keys={keys} onStep={setStep} />}
    </section>
  );
}

interface StepProps {
  readonly step: KeyStep;
  readonly owner: KeyOwner;
  readonly keys: Loaded<readonly Key[]>;
  readonly onStep: (step: KeyStep | undefined) => void;
}

function Step({ step, owner, keys, onStep }: StepProps) {
  const close = () => onStep(undefined);
  // The list is reloaded once a secret is closed, as the session may have ended with the old key.
  const done = (issued?: IssuedKey) => {
    if (issued !== undefined) return onStep({ what: 'made', issued });
    close();
    keys.reload();
  };
  switch (step.what) {
    case 'make':
      return <NewKeyDialog owner={owner} keys={keys.value} onClose={close} onDone={done} />;
    case 'made':
      return (
        <SecretDialog
          title={`The new key ${step.issued.key?.name}`}
          secret={step.issued.secret}
          onClose={() => done()}
        >
          Copy it now. It is shown only once: the server stores only its hash.
        </SecretDialog>
      );
    case 'invite':
      return (
        <InviteDialog
          owner={owner}
          onClose={close}
          onInvited={(invited) => onStep({ what: 'invited', invited })}
        />
      );
    case 'invited':
      return (
        <SecretDialog title="The invitation" secret={step.invited.url} onClose={() => done()}>
          {howToSend(step.invited)} It is shown only once.
        </SecretDialog>
      );
    case 'facts':
      return (
        <Dialog title={step.key.name} onClose={close}>
          <KeyFacts of={keys.value?.find(({ id }) => id === step.key.id) ?? step.key} />
          {owner.usageOf && (
            <p>
              <a href={owner.usageOf(step.key)}>Usage of this key</a>
            </p>
          )}
        </Dialog>
      );
    case 'limits':
      return <LimitsDialog of={step.key} owner={owner} onClose={close} onDone={done} />;
    case 'rotate':
      return <RotateDialog of={step.key} owner={owner} onClose={close} onDone={done} />;
    case 'revoke':
      return <RevokeDialog of={step.key} owner={owner} onClose={close} onDone={done} />;
  }
}

function howToSend({ mailAddress, mailFailure }: Invited): string {
  if (mailFailure !== undefined) return `The mail was not sent: ${mailFailure} Send the link yourself.`;
  return mailAddress === undefined
    ? 'Send this link to the person alone.'
    : `It was mailed to ${mailAddress}: you need not send the link.`;
}

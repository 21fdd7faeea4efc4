/** The alerts of an account: settings, destination and raised alerts. */
import { useState } from 'preact/hooks';
import type { AlertSettings } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { destinationOf } from '../../../src/core/alerts/alert-words.ts';
import { nanoOf } from '../credits.ts';
import { Credits, Day, Facts, percentText } from '../format.tsx';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import type { SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { AlertSettingsDialog, AlertsOffDialog } from './alert-dialogs.tsx';
import { AlertList } from './alert-list.tsx';
import type { AlertOwner, AlertState } from './alert-owner.ts';
import { deliveryText } from './alert-words.ts';
import { destinations } from './destination-fields.tsx';
import { SendButton } from './send-button.tsx';
import { WaitingAddresses } from './waiting-addresses.tsx';

interface Props {
  readonly owner: AlertOwner;
  readonly session: SignedIn;
  /** Default: false. */
  readonly isReadOnly?: boolean;
}

type Step = { readonly what: 'set' | 'off' } | { readonly what: 'secret'; readonly secret: string };

export function Alerts({ owner, session, isReadOnly = false }: Props) {
  const [turn, setTurn] = useState(0);
  const [step, setStep] = useState<Step>();
  const state = useLoaded(`alert settings ${owner.accountId}`, owner.read);
  const close = () => setStep(undefined);
  const listAgain = () => setTurn((last) => last + 1);
  const done = (secret?: string) => {
    setStep(secret === undefined ? undefined : { what: 'secret', secret });
    state.reload();
  };
  return (
    <section class="card">
      <div class="title">
        <h2>Alerts</h2>
        <button type="button" onClick={listAgain}>
          Reload
        </button>
      </div>
      <Show of={state} what="the settings of the alerts">
        {(value) => (
          <Settings
            of={value}
            owner={owner}
            isReadOnly={isReadOnly}
            onStep={setStep}
            onTest={listAgain}
            onChanged={state.reload}
          />
        )}
      </Show>
      <AlertList owner={owner} session={session} turn={turn} isOff={state.value?.settings === undefined} />
      {step?.what === 'set' && <AlertSettingsDialog owner={owner} onClose={close} onDone={done} />}
      {step?.what === 'off' && <AlertsOffDialog owner={owner} onClose={close} onDone={done} />}
      {step?.what === 'secret' && (
        <SecretDialog title="The secret of the webhook" secret={step.secret} onClose={close}>
          Copy it now: it is shown only once. The receiver uses it to check that an alert comes from this
          server.
        </SecretDialog>
      )}
    </section>
  );
}

interface SettingsProps {
  readonly of: AlertState;
  readonly owner: AlertOwner;
  readonly isReadOnly: boolean;
  readonly onStep: (step: Step) => void;
  readonly onTest: () => void;
  readonly onChanged: () => void;
}

function Settings({ of, owner, isReadOnly, onStep, onTest, onChanged }: SettingsProps) {
  const { settings, webhookOffAt, waitingAddresses } = of;
  if (settings === undefined) {
    if (isReadOnly) return <Empty title="No alerts are raised." />;
    return (
      <Empty title="No alerts are raised.">
        <p>
          Alerts warn when a budget or fair use is nearly used up, when few credits are left, and when a plan
          ends.
        </p>
        <button type="button" onClick={() => onStep({ what: 'set' })}>
          Set up alerts
        </button>
      </Empty>
    );
  }
  return (
    <>
      {webhookOffAt !== undefined && (
        <p class="notes">
          <strong>
            The destination answered 410, and has been off since <Day at={webhookOffAt} />.
          </strong>{' '}
          Save the alerts again to turn it on.
        </p>
      )}
      <SettingFacts of={settings} />
      {waitingAddresses.length > 0 && (
        <WaitingAddresses of={waitingAddresses} owner={owner} isReadOnly={isReadOnly} onChanged={onChanged} />
      )}
      {!isReadOnly && (
        <p class="actions above">
          <button type="button" onClick={() => onStep({ what: 'set' })}>
            Change alerts
          </button>
          <button type="button" onClick={() => onStep({ what: 'off' })}>
            Turn alerts off
          </button>
          {destinationOf(settings) !== undefined && <Test owner={owner} onTest={onTest} />}
        </p>
      )}
    </>
  );
}

function SettingFacts({ of: settings }: { readonly of: AlertSettings }) {
  const { percents, balanceBelow } = settings;
  const destination = destinationOf(settings);
  return (
    <Facts
      of={[
        [
          destination === undefined ? 'Destination' : destinations[destination.kind],
          destination === undefined ? 'none: alerts are only listed' : <code>{destination.address}</code>,
        ],
        ['Budgets and fair use', `at ${percents.map((percent) => percentText(percent / 100)).join(', ')}`],
        ['Balance below', balanceBelow === undefined ? 'no alert' : <Credits nano={nanoOf(balanceBelow)} />],
      ]}
    />
  );
}

function Test({ owner, onTest }: Pick<SettingsProps, 'owner' | 'onTest'>) {
  const send = async () => {
    const { delivery } = (await owner.test()) ?? {};
    onTest();
    return delivery === undefined ? '' : deliveryText(delivery);
  };
  return <SendButton send={send}>Send a test</SendButton>;
}

import type { AlertSettings } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { Show, useLoaded } from '../states.tsx';
import type { AlertOwner, WantedSettings } from './alert-owner.ts';
import { DestinationFields, wantedDestination } from './destination-fields.tsx';

interface Props {
  readonly owner: AlertOwner;
  readonly onClose: () => void;
  /** @param secret if it is new */
  readonly onDone: (secret?: string) => void;
}

const percentsByDefault = [50, 80, 100];

export function AlertSettingsDialog({ owner, onClose, onDone }: Props) {
  // The page may be old, and the form replaces all settings.
  const state = useLoaded(`alert settings ${owner.accountId}`, owner.read);
  return (
    <Dialog title="Alerts" onClose={onClose}>
      <Show of={state} what="the settings of the alerts">
        {({ settings }) => (
          <CallForm
            action="Set the alerts"
            onSubmit={async (values) => onDone(await owner.set(wanted(values)))}
          >
            <SettingFields settings={settings} />
          </CallForm>
        )}
      </Show>
    </Dialog>
  );
}

function SettingFields({ settings }: { readonly settings: AlertSettings | undefined }) {
  const { balanceBelow = '', percents = percentsByDefault } = settings ?? {};
  return (
    <>
      <DestinationFields settings={settings} />
      <Field
        label="Percents"
        name="settings.percents"
        autocomplete="off"
        defaultValue={percents.join(', ')}
        hint={`Of each budget and of fair use. Empty: ${percentsByDefault.join(', ')}`}
      />
      <Field
        label="Balance below"
        name="settings.balance_below"
        inputMode="decimal"
        autocomplete="off"
        defaultValue={balanceBelow}
        hint="Credits. Empty: a low balance raises no alert"
      />
    </>
  );
}

function wanted(values: FormData): WantedSettings {
  const balanceBelow = String(values.get('settings.balance_below') ?? '').trim();
  const percents = String(values.get('settings.percents') ?? '')
    .split(/[\s,;%]+/)
    .filter((part) => part !== '');
  if (!percents.every((part) => /^\d{1,3}$/.test(part)))
    throw new Error('Percents are whole numbers from 1 to 100.');
  return {
    settings: {
      percents: percents.map(Number),
      ...wantedDestination(values),
      ...(balanceBelow !== '' && { balanceBelow }),
    },
    newSecret: values.has('new_secret'),
  };
}

export function AlertsOffDialog({ owner, onClose, onDone }: Props) {
  return (
    <Dialog title="Turn alerts off" onClose={onClose}>
      <CallForm
        action="Turn them off"
        isGrave
        onSubmit={async () => {
          await owner.set({});
          onDone();
        }}
      >
        <p>No alerts are raised from then on. The destination and its secret are deleted.</p>
      </CallForm>
    </Dialog>
  );
}

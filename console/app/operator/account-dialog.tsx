/** The actions of an operator on an account, each in a dialog. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { admin } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { dayMs } from '../format.tsx';

export type AccountAction = 'trial' | 'plan' | 'end' | 'load' | 'adjust';

interface Act {
  readonly title: string;
  readonly action: string;
  readonly isGrave?: boolean;
  readonly fields: ComponentChildren;
  /** @param once an id of this dialog, under which money moves once */
  readonly run: (accountId: string, values: FormData, once: string) => Promise<unknown>;
}

const text = (values: FormData, name: string) => String(values.get(name) ?? '').trim();

const nextMonth = () => new Date(Date.now() + 30 * dayMs).toISOString().slice(0, 10);

const acts: Readonly<Record<AccountAction, Act>> = {
  trial: {
    title: 'Start the trial',
    action: 'Start the trial',
    fields: <p>Speech and transcription are open for 14 days. An account has one trial.</p>,
    run: (accountId) => admin.startTrial({ accountId }),
  },
  plan: {
    title: 'The plan',
    action: 'Open the plan',
    fields: <Field label="Until (UTC)" name="ends_at" type="date" required defaultValue={nextMonth()} />,
    run: (accountId, values) =>
      admin.activatePlan({
        accountId,
        endsAt: timestampFromDate(new Date(text(values, 'ends_at'))),
      }),
  },
  end: {
    title: 'End the plan',
    action: 'End it now',
    isGrave: true,
    fields: (
      <p>Speech and transcription are refused from then on. Chat goes on as long as there are credits.</p>
    ),
    run: (accountId) => admin.endPlan({ accountId }),
  },
  load: {
    title: 'Load credits',
    action: 'Load',
    fields: <Money hint="Above zero, with at most nine places" />,
    run: (accountId, values, idempotencyKey) =>
      admin.loadCredits({ ...money(accountId, values), idempotencyKey }),
  },
  adjust: {
    title: 'Correct the balance',
    action: 'Enter the correction',
    fields: <Money hint="Below zero to take credits, such as -2.5" />,
    run: (accountId, values, idempotencyKey) =>
      admin.adjustCredits({ ...money(accountId, values), idempotencyKey }),
  },
};

function Money({ hint }: { readonly hint: string }) {
  return (
    <>
      <Field label="Credits" name="amount" required inputMode="decimal" autocomplete="off" hint={hint} />
      <Field label="Reason" name="reason" required maxLength={200} autocomplete="off" hint="For the ledger" />
    </>
  );
}

function money(accountId: string, values: FormData) {
  return { accountId, amount: text(values, 'amount'), reason: text(values, 'reason') };
}

interface Props {
  readonly id: string;
  readonly action: AccountAction;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function AccountDialog({ id, action, onDone, onClose }: Props) {
  // A second try after a lost answer enters nothing twice.
  const [once] = useState(
    () =>
      `console-${[...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  );
  const { title, action: words, isGrave = false, fields, run } = acts[action];
  return (
    <Dialog title={title} onClose={onClose}>
      <CallForm
        action={words}
        isGrave={isGrave}
        onSubmit={async (values) => {
          await run(id, values, once);
          onDone();
        }}
      >
        {fields}
      </CallForm>
    </Dialog>
  );
}

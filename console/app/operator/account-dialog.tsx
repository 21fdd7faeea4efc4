/** The actions of an operator on an account, each in a dialog. */
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { admin } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { dayMs } from '../format.tsx';
import { LimitFields, limitsOf } from '../limits/limit-fields.tsx';
import { Show, useLoaded } from '../states.tsx';

export type AccountAction =
  | 'trial'
  | 'plan'
  | 'prolong'
  | 'end'
  | 'load'
  | 'adjust'
  | 'limits'
  | 'rename'
  | 'suspend'
  | 'resume'
  | 'delete';

interface Act {
  readonly title: string;
  readonly action: string;
  readonly isGrave?: boolean;
  readonly fields: (account: Account) => ComponentChildren;
  /** @param once an id of this dialog, so that money moves only once */
  readonly run: (account: Account, values: FormData, once: string) => Promise<unknown>;
}

const text = (values: FormData, name: string) => String(values.get(name) ?? '').trim();

const dayOf = (date: Date) => date.toISOString().slice(0, 10);
export const nextMonth = () => dayOf(new Date(Date.now() + 30 * dayMs));

export function PlanEnd({ from }: { readonly from: string }) {
  return <Field label="Until (UTC)" name="ends_at" type="date" required defaultValue={from} />;
}

const setPlanEnd = ({ id: accountId }: Account, values: FormData) =>
  admin.activatePlan({ accountId, endsAt: timestampFromDate(new Date(text(values, 'ends_at'))) });

const acts: Readonly<Record<AccountAction, Act>> = {
  trial: {
    title: 'Start the trial',
    action: 'Start the trial',
    fields: () => <p>Speech and transcription are open for 14 days. An account has one trial.</p>,
    run: ({ id: accountId }) => admin.startTrial({ accountId }),
  },
  plan: {
    title: 'Open a plan',
    action: 'Open the plan',
    fields: ({ subscription }) => (
      <>
        {subscription?.state === 'trial' && <p>The plan begins now and replaces the trial.</p>}
        <PlanEnd from={nextMonth()} />
      </>
    ),
    run: setPlanEnd,
  },
  prolong: {
    title: 'Change the plan’s end',
    action: 'Change the end',
    fields: ({ subscription }) => (
      <PlanEnd from={subscription?.endsAt ? dayOf(timestampDate(subscription.endsAt)) : nextMonth()} />
    ),
    run: setPlanEnd,
  },
  end: {
    title: 'End the plan',
    action: 'End it now',
    isGrave: true,
    fields: () => (
      <p>Speech and transcription are refused from then on. Chat continues as long as there are credits.</p>
    ),
    run: ({ id: accountId }) => admin.endPlan({ accountId }),
  },
  load: {
    title: 'Load credits',
    action: 'Load',
    fields: () => <Money hint="Above zero, with at most nine places" />,
    run: ({ id: accountId }, values, idempotencyKey) =>
      admin.loadCredits({ ...money(accountId, values), idempotencyKey }),
  },
  adjust: {
    title: 'Correct the balance',
    action: 'Enter the correction',
    fields: () => <Money hint="Below zero to remove credits, such as -2.5" />,
    run: ({ id: accountId }, values, idempotencyKey) =>
      admin.adjustCredits({ ...money(accountId, values), idempotencyKey }),
  },
  limits: {
    title: 'Limits of the account',
    action: 'Set the limits',
    fields: ({ limits }) => (
      <>
        <p>They apply to all keys of the account together, from the next request on.</p>
        <LimitFields limits={limits} />
      </>
    ),
    run: ({ id: accountId }, values) => {
      const limits = limitsOf(values);
      return admin.setAccountLimits({ accountId, ...(limits && { limits }) });
    },
  },
  rename: {
    title: 'Rename the account',
    action: 'Rename it',
    fields: ({ name }) => (
      <Field label="Name" name="name" required maxLength={100} autocomplete="off" defaultValue={name} />
    ),
    run: ({ id: accountId }, values) => admin.renameAccount({ accountId, name: text(values, 'name') }),
  },
  suspend: {
    title: 'Suspend the account',
    action: 'Suspend it',
    isGrave: true,
    fields: () => <p>All its requests are refused until you resume it. Running requests end as usual.</p>,
    run: ({ id: accountId }) => admin.suspendAccount({ accountId }),
  },
  resume: {
    title: 'Resume the account',
    action: 'Resume it',
    fields: () => <p>Its requests are served again, with its plan, credits and keys.</p>,
    run: ({ id: accountId }) => admin.resumeAccount({ accountId }),
  },
  delete: {
    title: 'Delete the account',
    action: 'Delete it for good',
    isGrave: true,
    fields: ({ name }) => (
      <>
        <p>
          Its name is removed and its keys are revoked. Its usage and its ledger stay, under its id. This
          cannot be undone.
        </p>
        <Field label={`Type ${name} to confirm`} name="confirmed" required autocomplete="off" />
      </>
    ),
    run: async ({ id: accountId, name }, values) => {
      if (text(values, 'confirmed') !== name) throw new Error(`This is not ${name}.`);
      await admin.deleteAccount({ accountId });
    },
  },
};

/** The actions that end or remove something. */
export const graveActions: ReadonlySet<string> = new Set(
  Object.entries(acts)
    .filter(([, { isGrave }]) => isGrave)
    .map(([name]) => name),
);

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
  readonly accountId: string;
  readonly action: AccountAction;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function AccountDialog({ accountId, action, onDone, onClose }: Props) {
  // The page may be out of date, and some actions replace what it shows.
  const account = useLoaded(
    `${action} ${accountId}`,
    async (signal) => (await admin.getAccount({ accountId }, { signal })).account,
  );
  // Repeating the action after a lost answer enters nothing twice.
  const [once] = useState(
    () =>
      `console-${[...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  );
  const { title, action: words, isGrave = false, fields, run } = acts[action];
  return (
    <Dialog title={title} onClose={onClose}>
      <Show of={account} what="the account">
        {(value) =>
          value && (
            <CallForm
              action={words}
              isGrave={isGrave}
              onSubmit={async (values) => {
                await run(value, values, once);
                onDone();
              }}
            >
              {fields(value)}
            </CallForm>
          )
        }
      </Show>
    </Dialog>
  );
}

/** One change of several accounts: one after the other, with those that were left as they are at the end. */
import { create } from '@bufbuild/protobuf';
import { timestampFromDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Account, Subscription } from '../../../gen/parley/account/v1/account_pb.ts';
import {
  BudgetsSchema,
  EndUserBudgetsSchema,
  LimitsSchema,
} from '../../../gen/parley/account/v1/limits_pb.ts';
import { admin, failureOf } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Message } from '../format.tsx';
import { LimitFields, limitsOf } from '../limits/limit-fields.tsx';
import { nextMonth, PlanEnd } from './account-dialog.tsx';

export type BulkAction = 'plan' | 'limits';

/** Changes an account as it is now. Returns why it was left as it is. */
type Change = (now: Account, shown: Account) => Promise<string | undefined>;

const changedMeanwhile = 'It was changed since this list was loaded.';

function planChange(values: FormData): Change {
  const endsAt = timestampFromDate(new Date(String(values.get('ends_at'))));
  return async ({ id: accountId, subscription: now }, { subscription: shown }) => {
    if (endMs(now) !== endMs(shown)) return changedMeanwhile;
    if (now?.state === 'active' && endMs(now) > timestampMs(endsAt)) return 'Its plan ends later.';
    await admin.activatePlan({ accountId, endsAt });
    return undefined;
  };
}

const endMs = (subscription: Subscription | undefined) =>
  subscription?.endsAt ? timestampMs(subscription.endsAt) : 0;

/** Filled fields replace those of the account, and ticked ones are removed. */
function limitsChange(values: FormData): Change {
  const filled = limitsOf(values);
  if (filled === undefined) throw new Error('Fill in or remove at least one limit.');
  const { budgets, perEndUser, ...others } = filled;
  return async ({ id: accountId, limits: now }, { limits: shown }) => {
    const isChanged =
      differ(now, shown, others) ||
      differ(now?.budgets, shown?.budgets, budgets) ||
      differ(now?.perEndUser, shown?.perEndUser, perEndUser);
    if (isChanged) return changedMeanwhile;
    const limits = Object.assign(create(LimitsSchema), now, others);
    if (budgets) limits.budgets = create(BudgetsSchema, { ...limits.budgets, ...budgets });
    if (perEndUser) limits.perEndUser = create(EndUserBudgetsSchema, { ...limits.perEndUser, ...perEndUser });
    await admin.setAccountLimits({ accountId, limits });
    return undefined;
  };
}

/** Whether any of the filled fields has another value than the one that was shown. */
function differ<T extends object>(now: T | undefined, shown: T | undefined, filled: object = {}): boolean {
  const textOf = (of: T | undefined, name: string) => String(of?.[name as keyof T] ?? '');
  return Object.keys(filled).some((name) => textOf(now, name) !== textOf(shown, name));
}

const acts = {
  plan: {
    title: 'Open or extend plans',
    action: 'Open or extend them',
    change: planChange,
    fields: () => (
      <>
        <p>A trial is replaced by the plan. A plan that ends later stays as it is.</p>
        <PlanEnd from={nextMonth()} />
      </>
    ),
  },
  limits: {
    title: 'Set limits',
    action: 'Set the limits',
    change: limitsChange,
    fields: () => <LimitFields isPatch />,
  },
} as const;

export interface BulkProps {
  readonly action: BulkAction;
  readonly accounts: readonly Account[];
  /** @param rest the accounts that were not changed; undefined if the change never began */
  readonly onClose: (rest: readonly Account[] | undefined) => void;
}

interface Refused {
  readonly account: Account;
  readonly reason: string;
}

interface Progress {
  readonly done: number;
  readonly refused: readonly Refused[];
  /** Why it ended before the last account. */
  readonly end?: string;
}

export function BulkDialog({ action, accounts: given, onClose }: BulkProps) {
  // The list behind the dialog may be loaded anew.
  const [accounts] = useState(given);
  const [progress, setProgress] = useState<Progress>();
  const isStopped = useRef(false);
  const stop = () => {
    isStopped.current = true;
  };
  useEffect(() => stop, []);
  const { title, action: words, change: changeOf, fields } = acts[action];
  const run = async (values: FormData) => {
    const change = changeOf(values);
    const refused: Refused[] = [];
    for (const [done, account] of accounts.entries()) {
      if (isStopped.current) return setProgress({ done, refused, end: 'Stopped.' });
      try {
        const reason = await changeNow(account, change);
        if (reason !== undefined) refused.push({ account, reason });
      } catch (error) {
        const { kind, message, param } = failureOf(error);
        // A wrong field is wrong for all: the form shows it.
        if (done === 0 && param !== undefined && param !== 'account_id') throw error;
        if (kind === 'offline') return setProgress({ done, refused, end: message });
        refused.push({ account, reason: message });
      }
      setProgress({ done: done + 1, refused });
    }
  };
  return (
    <Dialog title={title} onClose={() => onClose(progress && restOf(accounts, progress))}>
      {progress === undefined ? (
        <p>
          {accounts.length === 1 ? accounts[0]?.name : `${accounts.length} accounts, one after the other.`}
        </p>
      ) : (
        <Report of={progress} total={accounts.length} onStop={stop} />
      )}
      <div hidden={progress !== undefined}>
        <CallForm action={words} onSubmit={run}>
          {fields()}
        </CallForm>
      </div>
    </Dialog>
  );
}

function restOf(accounts: readonly Account[], { done, refused }: Progress): readonly Account[] {
  return [...refused.map(({ account }) => account), ...accounts.slice(done)];
}

async function changeNow(shown: Account, change: Change): Promise<string | undefined> {
  const { account } = await admin.getAccount({ accountId: shown.id });
  return account && change(account, shown);
}

interface ReportProps {
  readonly of: Progress;
  readonly total: number;
  readonly onStop: () => void;
}

function Report({ of: { done, refused, end }, total, onStop }: ReportProps) {
  const isOver = done === total || end !== undefined;
  const status = useRef<HTMLParagraphElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => (isOver ? status : button).current?.focus(), [isOver]);
  return (
    <>
      <p ref={status} role="status" tabIndex={-1}>
        {isOver && `${end ? `${end} ` : ''}${done - refused.length} of ${total} accounts changed.`}
      </p>
      {!isOver && <p>{`${done} of ${total} done`}</p>}
      <progress max={total} value={done} aria-label="Accounts" />
      {refused.length > 0 && (
        <>
          <h3>Left as they are</h3>
          <ul>
            {refused.map(({ account: { id, name }, reason }) => (
              <li key={id}>
                {isOver ? <a href={`/console/accounts/${id}`}>{name}</a> : name}: <Message text={reason} />
              </li>
            ))}
          </ul>
        </>
      )}
      {!isOver && (
        <p class="form-end">
          <button ref={button} type="button" onClick={onStop}>
            Stop
          </button>
        </p>
      )}
    </>
  );
}

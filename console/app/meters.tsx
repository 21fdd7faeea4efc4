/** Plan, credits and fair use of an account, for its holder and for the operator. */

import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Account } from '../../gen/parley/account/v1/account_pb.ts';
import { creditsText } from './credits.ts';
import { Credits, Day, dayMs, percentText, spanText, wholeText } from './format.tsx';

const planNames: Readonly<Record<string, string>> = {
  none: 'No plan',
  trial: 'Trial',
  active: 'Plan',
  ended: 'Ended',
};

export function PlanCard({ account: { subscription } }: { readonly account: Account }) {
  const { state = 'none', startedAt, endsAt } = subscription ?? {};
  const isRunning = state === 'trial' || state === 'active';
  return (
    <section class="card">
      <h2>Plan</h2>
      <p class="big">
        {planNames[state] ?? state} <span class={`badge ${isRunning ? 'ok' : 'refused'}`}>{state}</span>
      </p>
      {endsAt === undefined || startedAt === undefined ? (
        <p class="quiet">Speech and transcription need a plan or its trial. Chat is paid from credits.</p>
      ) : (
        <>
          {isRunning && <TimeLeft from={timestampDate(startedAt)} until={timestampDate(endsAt)} />}
          <p class="quiet">
            {isRunning ? 'Ends on ' : `Ended ${spanText(timestampDate(endsAt))}, on `}
            <Day at={endsAt} />
          </p>
        </>
      )}
    </section>
  );
}

function TimeLeft({ from, until }: { readonly from: Date; readonly until: Date }) {
  const whole = until.getTime() - from.getTime();
  const left = Math.max(0, until.getTime() - Date.now());
  const text = `${wholeText(Math.round(left / dayMs))} days left`;
  return <Bar label={text} share={whole === 0 ? 0 : left / whole} isLow={left < 3 * dayMs} />;
}

export function CreditsCard({ account }: { readonly account: Account }) {
  const { balanceNanoCredits: balance, heldNanoCredits: held } = account;
  return (
    <section class="card">
      <h2>Credits</h2>
      <p class="big">
        <Credits nano={balance} />
      </p>
      <p class="quiet">
        {held === 0n ? (
          'Nothing is held by running chats.'
        ) : (
          <>
            <Credits nano={held} /> held by running chats, {creditsText(balance - held)} free
          </>
        )}
      </p>
    </section>
  );
}

export function FairUseCard({ account: { fairUse } }: { readonly account: Account }) {
  const { usedUnits = 0n, limitUnits = 0n, resetsAt } = fairUse ?? {};
  const share = limitUnits === 0n ? 0 : Number(usedUnits) / Number(limitUnits);
  return (
    <section class="card">
      <h2>Fair use this month</h2>
      <p class="big" title={`${wholeText(usedUnits)} of ${wholeText(limitUnits)} units`}>
        {limitUnits === 0n ? '–' : percentText(share)}
      </p>
      {limitUnits > 0n && (
        <Bar
          label={`${wholeText(usedUnits)} of ${wholeText(limitUnits)} units`}
          share={share}
          isLow={share > 0.8}
        />
      )}
      {resetsAt !== undefined && (
        <p class="quiet">
          Resets {spanText(timestampDate(resetsAt))}, on <Day at={resetsAt} />
        </p>
      )}
    </section>
  );
}

interface BarProps {
  readonly label: string;
  /** 0 to 1. */
  readonly share: number;
  readonly isLow: boolean;
}

export function Bar({ label, share, isLow }: BarProps) {
  return (
    <p class="bar">
      <meter class={isLow ? 'low' : ''} min={0} max={1} value={Math.min(1, share)} aria-label={label} />
      <span>{label}</span>
    </p>
  );
}

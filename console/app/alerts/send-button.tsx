import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { failureOf } from '../api.ts';

interface Props {
  /** Returns the outcome in words. */
  readonly send: () => Promise<string>;
  /** The label while nothing is sent. */
  readonly children: string;
  /** The rest of the label. */
  readonly more?: ComponentChildren;
}

/** A button that sends something, and the outcome beside it. */
export function SendButton({ send, children, more }: Props) {
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState('');
  const sendOnce = async () => {
    if (isBusy) return;
    setBusy(true);
    setOutcome('');
    try {
      setOutcome(await send());
    } catch (error) {
      setOutcome(failureOf(error).message);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" aria-disabled={isBusy} onClick={() => void sendOnce()}>
        {isBusy ? 'Sending…' : children}
        {more}
      </button>{' '}
      <span role="status">{outcome}</span>
    </>
  );
}

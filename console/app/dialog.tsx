import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { failureOf } from './api.ts';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A native modal dialog. Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <div class="title">
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" onClick={() => element.current?.close()}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface FormProps {
  /** The words of the button. */
  readonly action: string;
  /** Whether the action takes something away. */
  readonly isGrave?: boolean;
  readonly onSubmit: (values: FormData) => Promise<void>;
  readonly children?: ComponentChildren;
}

/** A form that calls the server, and shows its words if it refuses. */
export function CallForm({ action, isGrave = false, onSubmit, children }: FormProps) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await onSubmit(new FormData(event.currentTarget as HTMLFormElement));
    } catch (error) {
      setProblem(failureOf(error).message);
    }
    setBusy(false);
  };
  return (
    <form onSubmit={submit}>
      {children}
      <p class="problem" role="alert">
        {problem}
      </p>
      <button type="submit" class={isGrave ? 'grave' : 'primary'} aria-disabled={isBusy}>
        {isBusy ? 'One moment…' : action}
      </button>
    </form>
  );
}

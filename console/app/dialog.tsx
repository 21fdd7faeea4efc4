import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import { failureOf } from './api.ts';
import { type Refusal, RefusalContext } from './fields.tsx';
import { Message } from './format.tsx';

interface Props {
  readonly title: string;
  /** Whether it stays open, as closing would lose what it shows. */
  readonly isHeld?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

interface Opened {
  /** Whether the dialog's form waits for the server. */
  readonly isBusy: boolean;
  readonly setBusy: (isBusy: boolean) => void;
  readonly close: () => void;
}

/** The dialog around a form. */
const DialogContext = createContext<Opened | undefined>(undefined);

/**
 * A native modal dialog. Escape closes it, but not while its form waits for an answer, which may contain a secret.
 * Its first field has the focus. After closing, the focus returns to where it was.
 */
export function Dialog({ title, isHeld = false, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const stays = isHeld || isBusy;
  const close = () => {
    if (!stays) element.current?.close();
  };
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    element.current?.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus();
    return () => {
      // The element is gone by now; otherwise it would keep the focus from anything behind it.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const stayOpen = (event: Event) => {
    if (stays) event.preventDefault();
  };
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={stayOpen}
      // Browsers do not emit `cancel` for a second Escape.
      onKeyDown={(event) => event.key === 'Escape' && stayOpen(event)}
    >
      <div class="title">
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" aria-disabled={stays} onClick={close}>
          Close
        </button>
      </div>
      <DialogContext.Provider value={{ isBusy, setBusy, close }}>{children}</DialogContext.Provider>
    </dialog>
  );
}

interface FormProps {
  /** Label of the button. */
  readonly action: string;
  /** Whether the action removes something. */
  readonly isGrave?: boolean;
  readonly onSubmit: (values: FormData) => Promise<void>;
  readonly children?: ComponentChildren;
}

/** A form that calls the server. Shows the server's refusal at the field that it concerns, or below all fields. */
export function CallForm({ action, isGrave = false, onSubmit, children }: FormProps) {
  const [refusal, setRefusal] = useState<Refusal>();
  const own = useState(false);
  const dialog = useContext(DialogContext);
  const { isBusy, setBusy } = dialog ?? { isBusy: own[0], setBusy: own[1] };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy) return;
    const form = event.currentTarget as HTMLFormElement;
    setBusy(true);
    setRefusal(undefined);
    try {
      await onSubmit(new FormData(form));
    } catch (error) {
      const { message, param = '' } = failureOf(error);
      setRefusal({ message, param: focusField(form, param) ? param : '' });
    }
    setBusy(false);
  };
  return (
    <form onSubmit={submit}>
      <RefusalContext.Provider value={refusal}>{children}</RefusalContext.Provider>
      <p class="problem" role="alert">
        {refusal?.param === '' && <Message text={refusal.message} />}
      </p>
      <p class="form-end">
        <button type="submit" class={isGrave ? 'grave' : 'primary'} aria-disabled={isBusy}>
          {isBusy ? 'One moment…' : action}
        </button>
        {isGrave && dialog && (
          <button type="button" aria-disabled={isBusy} onClick={dialog.close}>
            Cancel
          </button>
        )}
      </p>
    </form>
  );
}

/** Returns false if the form has no such field. */
function focusField(form: HTMLFormElement, name: string): boolean {
  const field = name === '' ? null : form.elements.namedItem(name);
  const isField = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement;
  if (!isField || field.type === 'checkbox') return false;
  const part = field.closest('details');
  if (part !== null) part.open = true;
  field.focus();
  return true;
}

/** Fields of forms and filters, from native elements. */
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

type Option = string | readonly [value: string, text: string];

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The words of the empty choice. Default: there is none. */
  readonly all?: string;
  readonly options: readonly Option[];
}

export function Choice({ label, value, onChange, all, options }: ChoiceProps) {
  const id = useId();
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {all !== undefined && <option value="">{all}</option>}
        {options.map((option) => {
          const [own, text] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={own} value={own}>
              {text}
            </option>
          );
        })}
      </select>
    </span>
  );
}

interface SegmentsProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly text: string }[];
}

/** A choice of a few, all in sight. */
export function Segments({ label, value, onChange, options }: SegmentsProps) {
  const name = useId();
  return (
    <fieldset class="segments">
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  );
}

type InputProps = JSX.IntrinsicElements['input'] & {
  readonly label: string;
  readonly hint?: ComponentChildren;
};

export function Field({ label, hint, ...input }: InputProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...input} />
      {hint !== undefined && (
        <small id={`${id}-hint`} class="quiet">
          {hint}
        </small>
      )}
    </div>
  );
}

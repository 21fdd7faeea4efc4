/** Fields of forms and filters, from native elements. */
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';

type Option = string | readonly [value: string, text: string];

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Label of the empty choice. Default: no empty choice. */
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

interface SearchFieldProps {
  /** For readers of the screen. */
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A reader who types on is not waited for by a search of half a word. */
const pauseMs = 300;

/** Finds when the reader pauses, or presses Enter. */
export function SearchField({ label, placeholder, value, onChange }: SearchFieldProps) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  const asked = useRef(value);
  // Its own search comes back here, while the reader may have typed on.
  useEffect(() => {
    if (value !== asked.current) setTyped(value);
    asked.current = value;
  }, [value]);
  const ask = () => {
    asked.current = typed;
    onChange(typed);
  };
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(ask, pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <>
      <label class="unseen" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={placeholder}
        autocomplete="off"
        maxLength={100}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onKeyDown={({ key }) => key === 'Enter' && ask()}
      />
    </>
  );
}

interface SegmentsProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly text: string }[];
}

/** A choice among a few, all visible. */
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

/** The field that the server refused, with the server's message. Forms provide it. */
export interface Refusal {
  /** Name of the field. */
  readonly param: string;
  readonly message: string;
}
export const RefusalContext = createContext<Refusal | undefined>(undefined);

interface Labelled {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** What is wrong with the value. Default: the refusal of the form, if it concerns this field */
  readonly problem?: string | undefined;
}

type InputProps = JSX.IntrinsicElements['input'] & Labelled;
type AreaProps = JSX.IntrinsicElements['textarea'] & Labelled;

export function Field({ label, hint, problem, ...input }: InputProps) {
  return (
    <Described label={label} hint={hint} problem={problem} name={input.name}>
      {(described) => <input {...described} {...input} />}
    </Described>
  );
}

export function Area({ label, hint, problem, ...area }: AreaProps) {
  return (
    <Described label={label} hint={hint} problem={problem} name={area.name}>
      {(described) => <textarea spellcheck={false} {...described} {...area} />}
    </Described>
  );
}

interface DescribedProps extends Labelled {
  readonly name: JSX.IntrinsicElements['input']['name'];
  readonly children: (attributes: object) => ComponentChildren;
}

/** A field with its label, its hint, and the server's message about it. */
function Described({ label, hint, problem: given, name, children }: DescribedProps) {
  const id = useId();
  const refusal = useContext(RefusalContext);
  const problem = given ?? (name !== undefined && refusal?.param === name ? refusal.message : undefined);
  const texts = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`];
  const describedBy = texts.filter(Boolean).join(' ') || undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': describedBy, 'aria-invalid': problem !== undefined || undefined })}
      {hint !== undefined && (
        <small id={`${id}-hint`} class="quiet">
          {hint}
        </small>
      )}
      {problem !== undefined && (
        <small id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </small>
      )}
    </div>
  );
}

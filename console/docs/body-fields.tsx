import { useId } from 'preact/hooks';
import type { Operation, Schema } from './document.ts';
import { Field } from './field.tsx';
import { bodySchema, type Draft, formType, jsonType } from './try-request.ts';

interface Props {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}

/** The body: its JSON as text, or a field for each part of a form. */
export function BodyFields({ operation, draft, onChange }: Props) {
  const form = bodySchema(operation, formType);
  if (form !== undefined) return <FormFields schema={form} draft={draft} onChange={onChange} />;
  if (bodySchema(operation, jsonType) === undefined) return null;
  return <JsonField draft={draft} onChange={onChange} canStream={canStream(operation)} />;
}

function canStream({ responses }: Operation): boolean {
  return responses['200']?.content['text/event-stream'] !== undefined;
}

interface JsonProps extends Omit<Props, 'operation'> {
  readonly canStream: boolean;
}

function JsonField({ draft, onChange, canStream }: JsonProps) {
  const id = useId();
  const { json } = draft;
  const problem = problemOf(json);
  return (
    <div class="field">
      <label for={id}>Body (JSON)</label>
      <textarea
        id={id}
        rows={Math.min(20, json.split('\n').length + 1)}
        spellcheck={false}
        aria-invalid={problem !== undefined}
        value={json}
        onInput={({ currentTarget }) => onChange({ ...draft, json: currentTarget.value })}
      />
      {problem !== undefined && <small class="failure">{problem}</small>}
      {canStream && problem === undefined && (
        <label class="check">
          <input
            type="checkbox"
            checked={isStreamed(json)}
            onChange={({ currentTarget }) =>
              onChange({ ...draft, json: withStream(json, currentTarget.checked) })
            }
          />
          Stream the answer
        </label>
      )}
    </div>
  );
}

function problemOf(json: string): string | undefined {
  try {
    if (json.trim() !== '') JSON.parse(json);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function membersOf(json: string): Record<string, unknown> {
  const value: unknown = json.trim() === '' ? {} : JSON.parse(json);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function isStreamed(json: string): boolean {
  return membersOf(json)['stream'] === true;
}

function withStream(json: string, isStreamed: boolean): string {
  const { stream: _, ...members } = membersOf(json);
  return JSON.stringify(isStreamed ? { ...members, stream: true } : members, null, 2);
}

interface FormProps extends Omit<Props, 'operation'> {
  readonly schema: Schema;
}

function FormFields({ schema, draft, onChange }: FormProps) {
  const set = (name: string, value: Draft['form'][string]) =>
    onChange({ ...draft, form: { ...draft.form, [name]: value } });
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => {
        const required = schema.required?.includes(name) ?? false;
        if (property.format === 'binary')
          return (
            <FileField key={name} name={name} required={required} onChange={(file) => set(name, file)} />
          );
        const value = draft.form[name];
        const list = Array.isArray(value) ? value : [];
        if (property.items?.enum !== undefined)
          return (
            <Choices
              key={name}
              name={name}
              values={property.items.enum}
              chosen={list}
              onChange={(chosen) => set(name, chosen)}
            />
          );
        return (
          <Field
            key={name}
            name={name}
            schema={property}
            required={required}
            value={typeof value === 'string' ? value : list.join(',')}
            onChange={(text) => set(name, property.type === 'array' ? text.split(',') : text)}
          />
        );
      })}
    </>
  );
}

interface FileProps {
  readonly name: string;
  readonly required: boolean;
  readonly onChange: (file: File) => void;
}

function FileField({ name, required, onChange }: FileProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        <code>{name}</code>
      </label>
      <input
        id={id}
        type="file"
        required={required}
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) onChange(file);
        }}
      />
    </div>
  );
}

interface ChoicesProps {
  readonly name: string;
  readonly values: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function Choices({ name, values, chosen, onChange }: ChoicesProps) {
  return (
    <fieldset class="field">
      <legend>
        <code>{name}</code>
      </legend>
      {values.map((value) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ currentTarget }) =>
              onChange(currentTarget.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
            }
          />
          {value}
        </label>
      ))}
    </fieldset>
  );
}

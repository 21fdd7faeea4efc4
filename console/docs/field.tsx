import { useId } from 'preact/hooks';
import type { Schema } from './document.ts';

interface Props {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** An input for a plain value, made from its schema. An empty one is not sent. */
export function Field({ name, schema, required, value, onChange }: Props) {
  const id = useId();
  const values = schema.enum ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined);
  return (
    <div class="field">
      <label for={id}>
        <code>{name}</code>
      </label>
      {values === undefined ? (
        <input
          id={id}
          required={required}
          spellcheck={false}
          autocomplete="off"
          inputMode={schema.type === 'integer' || schema.type === 'number' ? 'decimal' : 'text'}
          placeholder={placeholderOf(schema)}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      ) : (
        <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="">not sent</option>
          {values.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

function placeholderOf({ type, format, items }: Schema): string {
  if (format === 'date-time') return '2026-11-22T00:00:00Z';
  if (type === 'array') return items?.enum?.join(', ') ?? 'a, b';
  return '';
}

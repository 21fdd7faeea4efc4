/** The members of a JSON value, with those of inner objects behind a click. */
import { useState } from 'preact/hooks';
import type { Api, Schema } from './document.ts';
import { Prose } from './prose.tsx';

interface Props {
  readonly api: Api;
  readonly schema: Schema;
}

export function SchemaView({ api, schema }: Props) {
  const own = api.resolve(schema);
  if (own.properties !== undefined) return <Members api={api} schema={own} />;
  const alternatives = (own.anyOf ?? []).filter((one) => one.type !== 'null');
  if (alternatives.length > 0) {
    return (
      <ol class="alternatives">
        {alternatives.map((one, index) => (
          <li key={index}>
            <span class="type">{typeText(api, one)}</span>
            <Prose text={one.description} />
            <Inner api={api} schema={one} />
          </li>
        ))}
      </ol>
    );
  }
  if (own.items !== undefined) return <SchemaView api={api} schema={own.items} />;
  return <p class="type">{typeText(api, own)}</p>;
}

function Members({ api, schema }: Props) {
  const { properties = {}, required = [] } = schema;
  return (
    <dl class="members">
      {Object.entries(properties).map(([name, property]) => (
        <div key={name}>
          <dt>
            <code>{name}</code> <span class="type">{typeText(api, property)}</span>
            {required.includes(name) && <span class="required">required</span>}
          </dt>
          <dd>
            <Prose text={api.resolve(property).description} />
            <Facts schema={api.resolve(property)} />
            <Inner api={api} schema={property} />
          </dd>
        </div>
      ))}
      {schema.additionalProperties === true && (
        <div>
          <dt>…</dt>
          <dd>Other members pass unchanged.</dd>
        </div>
      )}
    </dl>
  );
}

/** Allowed values and limits. */
export function Facts({ schema }: { readonly schema: Schema }) {
  // If a member may be null, its values are those of the other alternative.
  const [values] = [schema, ...(schema.anyOf ?? [])]
    .map((one) => one.enum ?? one.items?.enum)
    .filter((one) => one !== undefined);
  return (
    <>
      {values !== undefined && (
        <p class="facts">
          One of{' '}
          {values.map((value, index) => (
            <>
              {index > 0 && ', '}
              <code key={value}>{value}</code>
            </>
          ))}
          .
        </p>
      )}
      {schema.default !== undefined && (
        <p class="facts">
          Default <code>{String(schema.default)}</code>.
        </p>
      )}
    </>
  );
}

/** An inner object, drawn when opened, as a schema may contain itself. */
function Inner({ api, schema }: Props) {
  const [isOpen, open] = useState(false);
  const inner = objectIn(api, schema);
  if (inner === undefined) return null;
  return (
    <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>Members of {nameOf(schema) ?? 'it'}</summary>
      {isOpen && <SchemaView api={api} schema={inner} />}
    </details>
  );
}

/** The schema of the members inside lists and alternatives; undefined for a plain value. */
function objectIn(api: Api, schema: Schema): Schema | undefined {
  const own = api.resolve(schema);
  if (own.properties !== undefined) return own;
  if (own.items !== undefined) return objectIn(api, own.items);
  const inner = (own.anyOf ?? []).filter((one) => objectIn(api, one) !== undefined);
  return inner.length === 1 ? objectIn(api, inner[0] ?? {}) : inner.length > 1 ? own : undefined;
}

function nameOf({ $ref, items, anyOf }: Schema): string | undefined {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if (items !== undefined) return nameOf(items);
  return anyOf?.map(nameOf).find((name) => name !== undefined);
}

export function typeText(api: Api, schema: Schema): string {
  const { type, anyOf, items, format, properties } = api.resolve(schema);
  if (properties !== undefined) return nameOf(schema) ?? 'object';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (anyOf !== undefined) return [...new Set(anyOf.map((one) => typeText(api, one)))].join(' or ');
  if (items !== undefined) return `list of ${typeText(api, items)}`;
  if (format === 'binary') return 'file';
  if (format === 'date-time') return 'time (RFC 3339)';
  if (type === undefined) return 'any value';
  return [type].flat().join(' or ');
}

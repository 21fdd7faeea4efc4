/** Questions to the schema: which names a place has, and which settings take a single value. */
import { z } from 'zod';
import { configSchema } from '../schema/config-schema.ts';
import { pathText, type SettingPath } from './setting-path.ts';
import { isMap, type SettingsTree } from './settings-tree.ts';

type Schema = z.core.$ZodType;

/** A setting that takes a single value. */
export interface ScalarSetting {
  readonly path: SettingPath;
  /** What a text that stands for it is to be read as. */
  readonly kind: 'number' | 'boolean' | 'text';
}

/** Every setting that takes a single value, except in lists. Engines have those of their kind. By path. */
export function scalarSettings(tree: SettingsTree): ReadonlyMap<string, ScalarSetting> {
  return new Map(
    [...scalarsIn(configSchema, tree.root, [])].map((setting) => [pathText(setting.path), setting]),
  );
}

/** The names that are allowed in the map at `path`. */
export function namesAt(path: SettingPath, tree: SettingsTree): string[] {
  let schema = chosen(configSchema, tree.root);
  for (const [index, part] of path.entries()) {
    const inner = childOf(schema, part);
    if (inner === undefined) return [];
    schema = chosen(inner, tree.get(path.slice(0, index + 1)));
  }
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function* scalarsIn(declared: Schema, value: unknown, path: SettingPath): Generator<ScalarSetting> {
  const schema = chosen(declared, value);
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord) {
    const map = isMap(value) ? value : {};
    for (const name of Object.keys(schema instanceof z.ZodObject ? schema.shape : map)) {
      const inner = childOf(schema, name);
      if (inner !== undefined) yield* scalarsIn(inner, map[name], [...path, name]);
    }
  } else if (isScalar(schema)) yield { path, kind: kindOf(schema) };
}

function kindOf(schema: Schema): ScalarSetting['kind'] {
  if (schema instanceof z.ZodNumber) return 'number';
  return schema instanceof z.ZodBoolean ? 'boolean' : 'text';
}

/** A word that chooses a kind is part of what the setting is, and a union that no word has chosen has no settings. */
function isScalar(schema: Schema): boolean {
  return !(
    schema instanceof z.ZodArray ||
    schema instanceof z.ZodLiteral ||
    schema instanceof z.ZodDiscriminatedUnion
  );
}

function childOf(schema: Schema, part: string | number): Schema | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[part];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
}

/** The schema without defaults and conversions; of a union, the option that `value` chooses by its word. */
function chosen(schema: Schema, value: unknown): Schema {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return chosen(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodPipe) return chosen(schema.in, value);
  if (!(schema instanceof z.ZodDiscriminatedUnion) || !isMap(value)) return schema;
  const { discriminator } = schema.def;
  const options: readonly Schema[] = schema.options;
  const option = options
    .map((candidate) => chosen(candidate, undefined))
    .find((candidate) => {
      const word = childOf(candidate, discriminator);
      return word instanceof z.ZodLiteral && [...word.values].some((own) => own === value[discriminator]);
    });
  return option ?? schema;
}

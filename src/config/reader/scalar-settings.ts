import type { z } from 'zod';
import { settingsJsonSchema } from '../schema/config-schema.ts';
import { isMap, pathText, type SettingPath } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** A setting with a single value or a list of texts: variables and flags can set it. */
export interface ScalarSetting {
  readonly path: SettingPath;
  readonly type: 'number' | 'boolean' | 'text' | 'texts';
}

/** Every such setting, by path. Other lists are left out, and an engine has the settings of its kind. */
export function scalarSettings({ root }: SettingsTree): ReadonlyMap<string, ScalarSetting> {
  const scalars = scalarsIn(settingsJsonSchema, root, []);
  return new Map([...scalars].map((setting) => [pathText(setting.path), setting]));
}

function* scalarsIn(schema: JsonSchema, value: unknown, path: SettingPath): Generator<ScalarSetting> {
  const { type, properties, additionalProperties, items, const: fixed } = optionFor(schema, value);
  if (type === 'object') {
    const map = isMap(value) ? value : {};
    for (const name of Object.keys(properties ?? map)) {
      const inner = properties?.[name] ?? additionalProperties;
      if (typeof inner === 'object') yield* scalarsIn(inner, map[name], [...path, name]);
    }
  } else if (type === 'array') {
    const isTexts = typeof items === 'object' && !Array.isArray(items) && items.type === 'string';
    if (isTexts) yield { path, type: 'texts' };
  } else if (type !== undefined && fixed === undefined) {
    yield { path, type: type === 'boolean' ? type : type === 'string' ? 'text' : 'number' };
  }
}

/** In a union, the option whose `kind` or `type` equals that of the value. */
function optionFor(schema: JsonSchema, value: unknown): JsonSchema {
  const map = isMap(value) ? value : {};
  const chosen = schema.oneOf?.find(({ properties = {} }) =>
    Object.entries(properties).some(
      ([name, inner]) => typeof inner === 'object' && inner.const !== undefined && inner.const === map[name],
    ),
  );
  return chosen ?? schema;
}

/** docs/limits.md is whole: every setting that limits something is on it, and it names no other. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configJsonSchema } from '../../src/config/config.ts';

const page = readFileSync('docs/limits.md', 'utf8');
const isLimit = /Max$|Ms$|Threads$|^recognizers$|^breakerFailures$/;
/** How often something is done, by Parley itself. */
const isNoLimit = /EveryMs$/;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The settings as the page names them: those of engines and models alone, others with their section. */
function settingsIn(schema: Schema, section = ''): string[] {
  const { properties = {}, additionalProperties, items, anyOf = [], oneOf = [] } = schema;
  const unnamed = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [
    ...Object.entries(properties).flatMap(([name, inner]) => [
      section === '' ? name : `${section}.${name}`,
      ...settingsIn(inner, section === '' ? name : `${section}.${name}`),
    ]),
    ...[...unnamed, ...(items ? [items] : []), ...anyOf, ...oneOf].flatMap((inner) => settingsIn(inner)),
  ];
}

const settings = settingsIn(JSON.parse(configJsonSchema()));
const lastOf = (setting: string) => setting.split('.').at(-1) ?? '';
const limits = settings.filter((name) => isLimit.test(lastOf(name)) && !isNoLimit.test(lastOf(name)));
const named = [...page.matchAll(/`([a-zA-Z.]+)`/g)].map(([, name = '']) =>
  name.replace(/^engines\.builtin\./, ''),
);

it('names every setting that is a limit', () => {
  expect(limits.length).toBeGreaterThan(30);
  expect(limits.filter((name) => !named.includes(name))).toEqual([]);
});

it('names no limit that is no setting', () => {
  const unknown = named.filter((name) => isLimit.test(lastOf(name)) && !settings.includes(name));
  expect(unknown).toEqual([]);
});

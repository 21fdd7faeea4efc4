import { formatCredits, nanoCredits } from '../core/values/money.ts';
import { pathText, type SettingPath } from './reader/settings-tree.ts';

export interface SettingValue {
  /** Such as `server.port` and `models[0].price.input`. */
  readonly name: string;
  readonly value: string | number | boolean;
}

/** All values of a configuration. Those that must not appear on a screen read `(not shown)`. */
export function* settingValues(value: unknown, path: SettingPath = []): Generator<SettingValue> {
  const name = pathText(path);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* settingValues(item, [...path, index]);
  } else if (typeof value === 'object' && value !== null) {
    for (const [part, inner] of Object.entries(value)) yield* settingValues(inner, [...path, part]);
  } else if (typeof value === 'bigint') {
    // Prices are in nano-credits here, under a longer name than in the file.
    yield { name: name.replace(/PerMillion$/, ''), value: formatCredits(nanoCredits(value)) };
  } else if (value !== '' && isSecret(name)) {
    yield { name, value: '(not shown)' };
  } else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    yield { name, value };
  }
}

function isSecret(name: string): boolean {
  return /(key|secret|password|token)$|^store\.?url$/i.test(name);
}

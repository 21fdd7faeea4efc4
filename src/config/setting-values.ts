import { formatCredits, nanoCredits } from '../core/values/money.ts';
import { pathText, type SettingPath } from './reader/setting-path.ts';

export interface SettingValue {
  readonly path: SettingPath;
  /** Paths such as `server.port` and `models[0].price.input`. */
  readonly name: string;
  readonly value: string | number | boolean;
}

export const notShown = '(not shown)';

/** All values of a configuration. Those that must not appear on a screen read `(not shown)`. */
export function* settingValues(value: unknown, path: SettingPath = []): Generator<SettingValue> {
  const name = pathText(path);
  if (typeof value === 'object' && value !== null) {
    for (const [part, inner] of Object.entries(value)) {
      // Prices are in nano-credits here, under a longer name than in the file.
      const written = typeof inner === 'bigint' ? part.replace(/PerMillion$/, '') : part;
      yield* settingValues(inner, [...path, Array.isArray(value) ? Number(part) : written]);
    }
  } else if (typeof value === 'bigint') {
    yield { path, name, value: formatCredits(nanoCredits(value)) };
  } else if (value !== '' && isSecret(name)) {
    yield { path, name, value: notShown };
  } else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    yield { path, name, value };
  }
}

/** Headers with the names that HTTP has for credentials are among them. */
export function isSecret(name: string): boolean {
  return /(key|secret|password|token|authorization|cookie)$|^store\.?url$/i.test(name);
}

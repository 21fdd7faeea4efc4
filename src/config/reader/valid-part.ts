/** The valid part of an invalid configuration, so that `parley doctor` can check the rest as well. */
import type { z } from 'zod';
import { configSchema } from '../schema/config-schema.ts';
import { issuePath, pathText, type SettingPath, type SettingsMap, valueAt } from './setting-path.ts';

export interface ValidPart {
  readonly settings: z.infer<typeof configSchema>;
  /** The settings that are left out: they have their defaults, and an element of a list or a map is gone. */
  readonly leftOut: readonly string[];
}

/** A refused value may reveal another one, above it, such as a model without its price. */
const roundsMax = 20;

/** Removes invalid settings from `root`. Undefined if too much is refused. */
export function validPart(root: SettingsMap): ValidPart | undefined {
  const leftOut: string[] = [];
  for (let round = 0; round < roundsMax; round++) {
    const { success, data, error } = configSchema.safeParse(root);
    if (success) return { settings: data, leftOut };
    const paths = error.issues.flatMap((issue) => refusedPaths(issue, root));
    if (paths.length === 0) return undefined;
    removeAll(root, paths);
    leftOut.push(...paths.map(pathText));
  }
  return undefined;
}

function refusedPaths(issue: z.core.$ZodIssue, root: SettingsMap): SettingPath[] {
  const path = issuePath(issue);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => [...path, name]);
  // If the setting is missing, the setting that needs it is removed.
  const missingAt = path.findIndex((_, index) => valueAt(root, path.slice(0, index + 1)) === undefined);
  const refused = missingAt < 0 ? path : path.slice(0, missingAt);
  return refused.length === 0 ? [] : [refused];
}

/** The other elements of a list move up only afterwards, so that all paths stay valid. */
function removeAll(root: SettingsMap, paths: readonly SettingPath[]): void {
  const aboves = paths.map((path) => {
    const [above, last] = [valueAt(root, path.slice(0, -1)), path.at(-1)];
    if (typeof above === 'object' && above !== null) Reflect.deleteProperty(above, last ?? '');
    return above;
  });
  for (const list of aboves.filter(Array.isArray)) {
    list.splice(0, list.length, ...list.filter((value) => value !== undefined));
  }
}

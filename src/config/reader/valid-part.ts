/** The valid part of an invalid configuration, so that `parley doctor` can check the rest as well. */
import type { z } from 'zod';
import { configSchema } from '../schema/config-schema.ts';
import { pathText, type SettingPath, type SettingsTree } from './settings-tree.ts';

export interface ValidPart {
  readonly settings: z.infer<typeof configSchema>;
  /** The settings that are left out: they have their defaults, and an element of a list or a map is gone. */
  readonly leftOut: readonly string[];
}

/** A refused value may reveal another one, above it, such as a model without its price. */
const roundsMax = 20;

/** Undefined if too much is refused. */
export function validPart({ root }: SettingsTree): ValidPart | undefined {
  const rest = structuredClone(root);
  const leftOut: string[] = [];
  for (let round = 0; round < roundsMax; round++) {
    const { success, data, error } = configSchema.safeParse(rest);
    if (success) return { settings: data, leftOut };
    const paths = error.issues.flatMap((issue) => refusedPaths(issue, rest));
    if (paths.length === 0) return undefined;
    removeAll(rest, paths);
    leftOut.push(...paths.map(pathText));
  }
  return undefined;
}

function refusedPaths(issue: z.core.$ZodIssue, rest: unknown): SettingPath[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => [...path, name]);
  // If the setting is missing, whatever needs it goes.
  const present = path.slice(
    0,
    path.findIndex((_, index) => !isThere(rest, path.slice(0, index + 1))),
  );
  const refused = isThere(rest, path) ? path : present;
  return refused.length === 0 ? [] : [refused];
}

function isThere(rest: unknown, path: SettingPath): boolean {
  return valueAt(rest, path) !== undefined;
}

function valueAt(rest: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>(
    (value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined),
    rest,
  );
}

/** Leaves out values. The other elements of a list move up only afterwards, so that all paths stay right. */
function removeAll(rest: unknown, paths: readonly SettingPath[]): void {
  const lists = new Set<unknown[]>();
  for (const path of paths) {
    const [above, last] = [valueAt(rest, path.slice(0, -1)), path.at(-1)];
    if (last === undefined || typeof above !== 'object' || above === null) continue;
    Reflect.deleteProperty(above, last);
    if (Array.isArray(above)) lists.add(above);
  }
  for (const list of lists) list.splice(0, list.length, ...list.filter((value) => value !== undefined));
}

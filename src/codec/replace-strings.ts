type Steps = readonly string[];

/** Where each of the strings is in a tree of plain objects and arrays; undefined unless each is there once. */
export function findStrings(tree: object, strings: readonly string[]): readonly Steps[] | undefined {
  const found: Steps[] = [];
  const walk = (node: object, steps: Steps) => {
    for (const [name, value] of Object.entries(node)) {
      const index = strings.indexOf(value);
      if (index >= 0 && found[index] !== undefined) return false;
      if (index >= 0) found[index] = [...steps, name];
      else if (typeof value === 'object' && value !== null && !walk(value, [...steps, name])) return false;
    }
    return true;
  };
  return walk(tree, []) && strings.every((_, index) => found[index]) ? found : undefined;
}

/** A tree with another string in a place. Shares all parts that do not contain it. */
export function withString<T extends object>(tree: T, steps: Steps, string: string): T {
  return replaced(tree, steps, 0, string) as T;
}

function replaced(node: unknown, steps: Steps, depth: number, string: string): unknown {
  const name = steps[depth];
  if (name === undefined) return string;
  if (Array.isArray(node)) {
    const copy = [...node];
    copy[Number(name)] = replaced(copy[Number(name)], steps, depth + 1, string);
    return copy;
  }
  const copy = { ...(node as Record<string, unknown>) };
  copy[name] = replaced(copy[name], steps, depth + 1, string);
  return copy;
}

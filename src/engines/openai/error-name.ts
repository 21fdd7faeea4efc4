const namePattern = /^[\w.-]{1,100}$/;

/**
 * The name that an upstream gives its error, such as `model_not_found`; undefined where it has none. Its sentences are left
 * out: they may repeat a prompt.
 */
export function errorName(body: string): string | undefined {
  return namesOf(body).find(
    (candidate): candidate is string => typeof candidate === 'string' && namePattern.test(candidate),
  );
}

/** The same, to stand in the log after the status; empty where there is none. */
export function inBrackets(name: string | undefined): string {
  return name === undefined ? '' : ` (${name})`;
}

function namesOf(body: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(body);
    return [memberOf(parsed, 'error'), parsed].flatMap((error) => [
      memberOf(error, 'code'),
      memberOf(error, 'type'),
    ]);
  } catch {
    // Not JSON, or cut: then it has no name that could be told from the rest.
    return [];
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

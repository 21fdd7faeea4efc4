/** A member of a JSON document whose value is of the wrong kind. */
export interface FieldError {
  /** Such as `messages[0].role`. */
  readonly path: string;
  /** Such as `a string`. */
  readonly expected: string;
}

/** The path of a member of an object at `path`; the document itself has the empty path. */
export function memberPath(path: string, member: string): string {
  return path === '' ? member : `${path}.${member}`;
}

export interface BriefError {
  readonly type: string;
  /** With those of its causes, the nearest first. */
  readonly message: string;
  /** Such as `ECONNREFUSED`. */
  readonly code?: string;
}

/** An error for the log without the way that led to it: where another server failed, no line of this program is at fault. */
export function briefError(error: unknown): BriefError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const message = messagesOf(error).join(': ');
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return { type: error.constructor.name, message, ...code };
}

const depthMax = 5;

function messagesOf(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > depthMax) return [];
  // The failure to connect to each of several addresses says nothing itself.
  const said =
    error instanceof AggregateError
      ? error.errors.flatMap((inner) => messagesOf(inner, depth + 1)).join(', ')
      : '';
  return [error.message || said, ...messagesOf(error.cause, depth + 1)].filter((text) => text !== '');
}

import { setImmediate } from 'node:timers/promises';

/**
 * A value that is usually there at once. The steps of every request return it: an async function takes memory for its
 * state, and awaiting even a value that is there takes a turn of the queue of microtasks.
 */
export type Soon<T> = T | Promise<T>;

/** Passes the value on, at once if it is there. */
export function andThen<T, Next>(value: Soon<T>, next: (value: T) => Soon<Next>): Soon<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

const largeBytes = 131_072;

/** Lets other requests run between two steps of work on a large request. Undefined for a small one. */
export function breathe(requestBytes: number): Promise<void> | undefined {
  return requestBytes > largeBytes ? setImmediate() : undefined;
}

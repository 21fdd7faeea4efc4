/** A step of set-up that failed in a way that people can do something about. Its message says what. */
export class SetupFailure extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options);
    this.name = 'SetupFailure';
  }
}

/**
 * Whether an error of the system has one of these codes, such as ENOENT.
 *
 * @param {unknown} error
 * @param {readonly string[]} codes
 */
export function hasCode(error, ...codes) {
  return error instanceof Error && 'code' in error && codes.some((code) => error.code === code);
}

/** A database cannot be used, or a command on it failed. The message is for the person who runs the program. */
export class StoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StoreError';
  }
}

/** A port cannot be opened. Its cause is the error of the system. */
export class PortError extends Error {
  readonly isAdmin: boolean;

  constructor(isAdmin: boolean, cause: unknown) {
    super(String(cause), { cause });
    this.isAdmin = isAdmin;
  }
}

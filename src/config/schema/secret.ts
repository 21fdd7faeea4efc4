import { inspect } from 'node:util';

const shown = '(secret)';

/** A value that shows itself to nobody by accident: not in a log, not as JSON, not in a message. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}

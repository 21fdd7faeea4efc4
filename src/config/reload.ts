/** Which settings a running server can take over, and which it cannot. */
import { isDeepStrictEqual } from 'node:util';

/** What a server can exchange while it runs. Everything else is bound to its port, its store or its start. */
const reloadable: ReadonlySet<string> = new Set(['engines', 'engineKeys', 'models', 'fairUse', 'log']);

/** The sections that differ and need a restart, such as `server` and `tls`. Where there is one, nothing may be taken over. */
export function sectionsToRestart(running: object, next: object): string[] {
  const names = new Set([...Object.keys(running), ...Object.keys(next)]);
  return [...names].filter(
    (name) =>
      !reloadable.has(name) && !isDeepStrictEqual(Reflect.get(running, name), Reflect.get(next, name)),
  );
}

/** A configuration differs from the one that runs in what only a restart can change. */
export class NeedsRestartError extends Error {
  constructor(sections: readonly string[]) {
    const names = sections.map((name) => `\`${name}\``).join(', ');
    super(
      `${names} cannot change while the server runs. Restart it, or take that change back; nothing was taken over.`,
    );
    this.name = 'NeedsRestartError';
  }
}

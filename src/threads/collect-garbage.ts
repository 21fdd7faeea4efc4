import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the garbage of this thread. Only a `last-resort` collection returns memory to the system. A new context has `gc` while the
 * flag is set; it stays set, as another thread may collect as well.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('V8 exposes no garbage collection');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

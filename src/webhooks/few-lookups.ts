/** Few names are resolved at once: each takes one of the process's few threads, for as long as the name's servers like. */
import type { LookupAddress, LookupAllOptions } from 'node:dns';

/** Resolves a name to all of its addresses. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Node has four threads by default. */
const runningMax = 2;
const waitingMax = 16;

/** The same, with others waiting. Where too many wait, it fails as if the name were not known now. */
export function fewAtOnce(resolve: Resolve): Resolve {
  const waiting: (() => void)[] = [];
  let running = 0;
  const next = () => {
    if (running < runningMax) waiting.shift()?.();
  };
  return (name, options, done) => {
    if (waiting.length >= waitingMax) {
      done(Object.assign(new Error('too many lookups'), { code: 'EAI_AGAIN' }), []);
      return;
    }
    waiting.push(() => {
      running++;
      resolve(name, options, (error, addresses) => {
        running--;
        next();
        done(error, addresses);
      });
    });
    next();
  };
}

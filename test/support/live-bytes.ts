/** Memory as the collector counts it. Neither the machine's load nor garbage changes the figure. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
export const collect = runInNewContext('gc') as () => void;

/** Bytes that this process still refers to, after two full collections: buffers are freed by the second. */
export function liveBytes(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

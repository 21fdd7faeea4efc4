/** sherpa-onnx-node from the npm registry, as `parley runtimes install sherpa` installs it. */
import { installRuntime } from '../../../src/runtimes/install.ts';
import { sherpa } from '../../../src/runtimes/sherpa.ts';
import { type Installed, installClient } from './cache.ts';

/** Its folder has the folder `sherpa`. */
export function installSherpa(): Promise<Installed> {
  const source = new URL('sherpa', import.meta.url).pathname;
  return installClient(source, 'version.txt', async (folder) => {
    await installRuntime(sherpa, sherpa.archives, folder);
  });
}

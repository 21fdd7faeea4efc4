/** Programs from Go's module proxy, at the version in `package.txt` in their folder. */

import { mustRun } from '../../clients/shell.ts';
import { missingPrograms } from '../../support/audio-files.ts';
import { type Installed, installClient, installMsMax } from './cache.ts';

/**
 * The program is in `bin/` of its folder.
 * @param more a command that runs in the folder afterwards, with the path of the package and its version as $1 and $2
 */
export async function installGo(name: string, more = ''): Promise<Installed> {
  const source = new URL(name, import.meta.url).pathname;
  const missing = missingPrograms('go');
  if (missing !== undefined) {
    process.stderr.write(`NOT TESTED: ${name} (${missing})\n`);
    return { missing };
  }
  return installClient(source, 'package.txt', async (cwd) => {
    const env = { GOFLAGS: '-mod=mod', GOBIN: `${cwd}/bin` };
    await mustRun('go install "$(cat package.txt)"', { cwd, env, timeoutMs: installMsMax });
    if (more) await mustRun(more, { cwd, env });
  });
}

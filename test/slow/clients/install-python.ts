/** Python's clients from PyPI, each in a separate virtual environment. */
import { spawnSync } from 'node:child_process';
import { mustRun } from '../../clients/shell.ts';
import { type Installed, installClient, installMsMax } from './cache.ts';

/** Python versions by their names on the PATH, and those of pyenv, newest last. */
function findPython(minorMin: number): string | undefined {
  const found = spawnSync(
    'sh',
    ['-c', 'command -v python3; ls "$HOME"/.pyenv/versions/3.*/bin/python3 2>&-'],
    { encoding: 'utf8' },
  );
  const isEnough = `import sys, ensurepip, venv; sys.exit(sys.version_info < (3, ${minorMin}))`;
  return found.stdout
    .split('\n')
    .filter(Boolean)
    .find((python) => spawnSync(python, ['-c', isEnough]).status === 0);
}

/** @param name of a folder beside this file, with its `requirements.txt` */
export async function installPython(name: string, minorMin: number): Promise<Installed> {
  const source = new URL(name, import.meta.url).pathname;
  const python = findPython(minorMin);
  if (python === undefined) {
    const missing = `no Python of at least 3.${minorMin} with venv`;
    process.stderr.write(`NOT TESTED: ${name} (${missing})\n`);
    return { missing };
  }
  return installClient(source, 'requirements.txt', async (folder) => {
    await mustRun(`${python} -m venv --copies venv`, { cwd: folder });
    const pip = 'venv/bin/python -m pip install -q --prefer-binary --retries 1 --timeout 30';
    await mustRun(`${pip} -r requirements.txt`, { cwd: folder, timeoutMs: installMsMax });
  });
}

/** The executable with its licence, its units and the example configuration, as a .tar.gz. */
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';
import { mustRun, withScratch } from './scratch.mjs';

/** Options with which tar writes the same bytes for the same files. @param {string} epoch */
export function sameTar(epoch) {
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  return ['--sort=name', `--mtime=@${epoch}`, ...owner, '--format=gnu'];
}

/** @param {import('./version.mjs').Program} program */
export function makeArchive({ version, epoch, output, executable, arch }) {
  return withScratch(async (folder) => {
    const name = `parley-${version}-linux-${arch}`;
    mkdirSync(join(folder, name));
    copyFileSync(executable, join(folder, name, 'parley'));
    const texts = [
      'LICENSE',
      'CHANGELOG.md',
      'parley.example.yaml',
      'deploy/parley.service',
      'deploy/parley.socket',
    ];
    for (const text of texts) {
      const copy = join(folder, name, text.replace('deploy/', ''));
      copyFileSync(join(root, text), copy);
      chmodSync(copy, 0o644);
    }
    chmodSync(join(folder, name, 'parley'), 0o755);
    const archive = join(output, `${name}.tar.gz`);
    await mustRun(['tar', ...sameTar(epoch), '--use-compress-program=gzip -n', '-cf', archive, name], {
      epoch,
      cwd: folder,
    });
  });
}

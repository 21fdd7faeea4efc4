/** A package for Debian and Ubuntu: the executable as a service that starts by itself. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../setup/run.mjs';
import { mustRun, withScratch } from './scratch.mjs';
import { debianArch } from './version.mjs';

/** @param {import('./version.mjs').Program} program */
export function makeDebianPackage({ version, epoch, output, executable, arch }) {
  return withScratch(async (folder) => {
    const tree = join(folder, 'tree');
    /** @param {string} path @param {string | Buffer} content */
    const put = (path, content, mode = 0o644) => {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), content, { mode });
    };
    const own = (/** @type {string} */ path) => readFileSync(join(root, path), 'utf8');
    mkdirSync(join(tree, 'usr/bin'), { recursive: true });
    copyFileSync(executable, join(tree, 'usr/bin/parley'));
    chmodSync(join(tree, 'usr/bin/parley'), 0o755);
    const unit = own('deploy/parley.service').replaceAll('/usr/local/bin/', '/usr/bin/');
    put('usr/lib/systemd/system/parley.service', unit);
    put('usr/lib/systemd/system/parley.socket', own('deploy/parley.socket'));
    put('etc/parley/parley.yaml', own('deploy/debian/parley.yaml'));
    put('usr/share/doc/parley/parley.example.yaml', own('parley.example.yaml'));
    put('usr/share/doc/parley/copyright', own('deploy/debian/copyright'));
    put('usr/share/doc/parley/CHANGELOG.md.gz', gzipSync(own('CHANGELOG.md'), { level: 9 }));
    for (const script of ['postinst', 'prerm', 'postrm', 'conffiles'])
      put(`DEBIAN/${script}`, own(`deploy/debian/${script}`), script === 'conffiles' ? 0o644 : 0o755);
    const control = own('deploy/debian/control')
      .replace('@VERSION@', version.replace('-', '~'))
      .replace('@ARCH@', debianArch[arch])
      .replace('@SIZE@', String(kibibytesIn(tree)));
    put('DEBIAN/control', control);
    const file = join(output, `parley_${version}_${debianArch[arch]}.deb`);
    // Zstandard, as xz takes a minute. Debian 12 and Ubuntu 22.04 read it.
    await mustRun(['dpkg-deb', '--root-owner-group', '-Zzstd', '-z9', '--build', tree, file], { epoch });
  });
}

/** @param {string} tree */
function kibibytesIn(tree) {
  const paths = readdirSync(tree, { recursive: true, encoding: 'utf8' }).map((path) =>
    statSync(join(tree, path)),
  );
  return paths.reduce((sum, { size }) => sum + Math.ceil(size / 1024), 0);
}

/**
 * Completes the lock files. npm leaves out optional packages of other platforms if its registry is a mirror that lacks them, and
 * `npm ci` then fails. A user's settings may leave out addresses, and `npm ci` then asks the registry for each package.
 * Run it after a change of dependencies.
 *
 *   node scripts/complete-lock.mjs
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';

const files = [
  'package-lock.json',
  'test/package-lock.json',
  ...globSync('scripts/runtime/*/package-lock.json'),
];
const platform = /-(android|darwin|linux|win32)-(arm64|x64|armv7)(-musl)?$/;

/** @param {Record<string, any>} packages */
function addOtherPlatforms(packages) {
  for (const [path, parent] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const own = `node_modules/${name}`;
      if (packages[own] || packages[`${path}/${own}`]) continue;
      const [, os, cpu, musl] = platform.exec(name) ?? [];
      if (os === undefined) throw new Error(`The name of ${name} contains no platform.`);
      const libc = os === 'linux' && name.startsWith('@biomejs/') ? { libc: [musl ? 'musl' : 'glibc'] } : {};
      const { dev, license } = parent;
      packages[own] = {
        version,
        cpu: [cpu === 'armv7' ? 'arm' : cpu],
        ...(dev && { dev }),
        ...libc,
        license,
        optional: true,
        os: [os],
      };
    }
  }
}

/** @param {string} path @param {{ name?: string, version: string, resolved?: string }} entry */
function withAddress(path, entry) {
  if (path === '') return entry;
  const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const file = `${name.replace(/^@.*\//, '')}-${entry.version}.tgz`;
  const { version, resolved = `https://registry.npmjs.org/${name}/-/${file}`, ...rest } = entry;
  return { version, resolved, ...rest };
}

for (const file of files) {
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  addOtherPlatforms(lock.packages);
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  const packages = Object.fromEntries(sorted.map(([path, entry]) => [path, withAddress(path, entry)]));
  writeFileSync(file, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
}

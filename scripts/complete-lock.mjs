/**
 * Adds optional packages of other platforms to package-lock.json. npm leaves them out if its registry is a mirror that lacks
 * them, and `npm ci` then fails. Run it after a change of dependencies.
 *
 *   node scripts/complete-lock.mjs
 */
import { readFileSync, writeFileSync } from 'node:fs';

const file = 'package-lock.json';
const platform = /-(android|darwin|linux|win32)-(arm64|x64|armv7)(-musl)?$/;

const lock = JSON.parse(readFileSync(file, 'utf8'));
for (const [path, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const own = `node_modules/${name}`;
    if (lock.packages[own] || lock.packages[`${path}/${own}`]) continue;
    const [, os, cpu, musl] = platform.exec(name) ?? [];
    if (os === undefined) throw new Error(`The name of ${name} contains no platform.`);
    const libc = os === 'linux' && name.startsWith('@biomejs/') ? { libc: [musl ? 'musl' : 'glibc'] } : {};
    const { dev, license } = parent;
    lock.packages[own] = {
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
const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);

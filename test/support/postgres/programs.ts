import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const debianFolder = '/usr/lib/postgresql';

/** The folder of PostgreSQL's own programs, of the newest version that Debian's packages have installed. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(debianFolder)) return undefined;
  const versions = readdirSync(debianFolder).sort((one, other) => Number(other) - Number(one));
  const folders = versions.map((version) => join(debianFolder, version, 'bin'));
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))));
}

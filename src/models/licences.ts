/** Licences of models. One that is not permissive needs the operator's answer, which is kept. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { systemCode } from '../files/reason.ts';
import { ModelError, type ModelManifest } from './manifest.ts';
import type { ModelStore } from './model-store.ts';
import { writeDurably } from './write-durably.ts';

type Licence = ModelManifest['licence'];

/** SPDX identifiers. */
const permissive = new Set([
  ...['MIT', 'MIT-0', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'Zlib', 'Unlicense'],
  ...['CC0-1.0', 'CC-BY-4.0', 'CDLA-Permissive-2.0'],
]);

const answers = z.array(z.object({ name: z.string(), url: z.string().optional(), acceptedAt: z.string() }));

export function isPermissive({ name }: Licence): boolean {
  return permissive.has(name);
}

/**
 * @param ask throws unless the operator accepts the licence
 * @throws the error of `ask`
 */
export async function acceptLicence(
  store: ModelStore,
  licence: Licence,
  ask: () => Promise<void>,
): Promise<void> {
  if (isPermissive(licence)) return;
  const file = join(store.root, 'licences.json');
  const given = readAnswers(file);
  if (given.some(({ name, url }) => name === licence.name && url === licence.url)) return;
  await ask();
  writeDurably(file, [...given, { ...licence, acceptedAt: new Date().toISOString() }]);
}

function readAnswers(file: string): z.output<typeof answers> {
  try {
    return answers.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw new ModelError(
      `${file} cannot be read. Repair or delete it, then accept the licences again.`,
      error,
    );
  }
}

/** The list of parts (SBOM) as CycloneDX: npm's packages, sources and models of hearing, Node, and the vocabulary of tiktoken. */
import { createHash } from 'node:crypto';
import { hearingNotices, provideRecogniser } from '../binary/hearing.mjs';
import { isBuildTool } from '../build-tools.mjs';
import { isMoonshineFetched } from '../setup/moonshine.mjs';
import { runtimePackage, weights, wheel } from '../setup/moonshine-files.mjs';
import { root } from '../setup/run.mjs';
import { mustRun } from './scratch.mjs';

/** The lines of hearing's notices that name a source package. */
const sourceLine = /^- (?<name>[a-z]+)_(?<version>\S+) \(SHA-256 of its \.dsc: (?<sha256>[0-9a-f]{64})\)$/gm;

/** Licences of what the modules of hearing contain. @type {Readonly<Record<string, string>>} */
const licenses = {
  sphinxbase: 'BSD-2-Clause',
  pocketsphinx: 'BSD-2-Clause',
  ffmpeg: 'LGPL-2.1-or-later',
  lame: 'LGPL-2.0-or-later',
};

/** @param {import('./version.mjs').Release} release */
export async function listOfParts({ version, epoch }) {
  await provideRecogniser();
  const npm = ['npm', 'sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  const list = JSON.parse(await mustRun(npm, { epoch, cwd: root }));
  list.metadata.timestamp = new Date(Number(epoch) * 1000).toISOString();
  // npm takes the name of the folder.
  Object.assign(list.metadata.component, { type: 'application', name: 'parley' });
  // `--omit=dev` would also leave out packages that tools need as well as the server.
  list.components = list.components.filter(isPartOfServer);
  list.components.push(...hearingSources(), ...moonshine(), node(), vocabulary());
  const parts = [list.metadata.component, ...list.components];
  list.dependencies = amongParts(list.dependencies, new Set(parts.map((one) => one['bom-ref'])));
  // npm draws a new one each time.
  delete list.serialNumber;
  const digits = createHash('sha256')
    .update(`${version}${JSON.stringify(list)}`)
    .digest('hex');
  const [, ...groups] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(digits) ?? [];
  const [first, second, third, fourth, last] = groups;
  return { ...list, serialNumber: `urn:uuid:${first}-${second}-4${third}-8${fourth}-${last}` };
}

/** @typedef {{ ref: string, dependsOn: string[] }} Dependency */

/** @param {readonly Dependency[]} dependencies @param {ReadonlySet<string>} parts */
function amongParts(dependencies, parts) {
  return dependencies
    .filter(({ ref }) => parts.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => parts.has(one)) }));
}

/** @param {{ name: string, properties: { name: string }[] }} component */
function isPartOfServer({ name, properties }) {
  if (isBuildTool(name)) return false;
  return !properties.some(({ name }) => name === 'cdx:npm:package:development');
}

function hearingSources() {
  return [...hearingNotices().matchAll(sourceLine)].map(({ groups = {} }) => {
    const { name = '', version = '', sha256 } = groups;
    const properties = [{ name: 'parley:sha256-of-dsc', value: sha256 }];
    const purl = `pkg:deb/debian/${name}@${version}?arch=source`;
    return part({ name, version, purl, license: licenses[name] ?? '', properties });
  });
}

/** Empty if the executables are built without it. */
function moonshine() {
  if (!isMoonshineFetched()) return [];
  const [, version = ''] = wheel.split('==');
  const properties = weights.map(({ name, sha256 }) => ({ name: `parley:sha256-of-${name}`, value: sha256 }));
  const [runtime = '', runtimeVersion = ''] = runtimePackage.split('@');
  return [
    part({
      name: 'moonshine-tiny-en',
      version,
      purl: `pkg:pypi/${wheel.replace('==', '@')}`,
      license: 'MIT',
      properties,
    }),
    part({
      name: runtime,
      version: runtimeVersion,
      purl: `pkg:npm/${runtimePackage}`,
      license: 'MIT',
      properties: [],
    }),
  ];
}

function node() {
  const version = process.versions.node;
  return part({ name: 'node', version, purl: `pkg:generic/node@${version}`, license: 'MIT', properties: [] });
}

function vocabulary() {
  const [name, version] = ['tiktoken', '0.14.0'];
  return part({ name, version, purl: `pkg:pypi/${name}@${version}`, license: 'MIT', properties: [] });
}

/** @param {{ name: string, version: string, purl: string, license: string, properties: object[] }} facts */
function part({ license, ...facts }) {
  const licensed = [{ license: { id: license } }];
  return { 'bom-ref': facts.purl, type: 'library', ...facts, scope: 'required', licenses: licensed };
}

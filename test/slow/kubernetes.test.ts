/**
 * The manifests in deploy/ against Kubernetes' OpenAPI document, in the form of the npm package kubernetes-models: its types refuse
 * unknown fields, as the compiler checks literals, and its schemas wrong values.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { mustRun, shell } from '../clients/shell.ts';
import { installClient, installMsMax } from './clients/cache.ts';

const source = new URL('clients/kubernetes', import.meta.url).pathname;
const installed = await installClient(source, 'package.json', (cwd) =>
  mustRun('npm install --ignore-scripts --no-audit --no-fund --fetch-retries 1', {
    cwd,
    timeoutMs: installMsMax,
  }),
);
const missing = 'missing' in installed ? installed.missing : undefined;
const folder = 'folder' in installed ? installed.folder : '';

const manifests = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

/** A program that makes the objects. */
function programOf(text: string): string {
  const objects = parseAllDocuments(text).map((document) => document.toJS());
  const lines = objects.map(
    ({ apiVersion, kind, ...object }, at) =>
      `import { ${kind} as Kind${at} } from 'kubernetes-models/${apiVersion}';
new Kind${at}(${JSON.stringify(object)}).validate();`,
  );
  return lines.join('\n');
}

/** @returns everything that the types and the schemas find */
async function findings(text: string): Promise<string> {
  // It finds the package from there. Another checkout may test at the same time.
  const own = mkdtempSync(join(folder, 'manifests-'));
  try {
    const program = join(own, 'manifests.ts');
    writeFileSync(program, programOf(text));
    const options = '--noEmit --strict --skipLibCheck --module nodenext --target esnext';
    const types = await shell(`exec tsc ${options} --types '' ${program}`, { cwd: own });
    const schemas = await shell(`exec "${process.execPath}" ${program}`, {});
    return types.stdout + types.stderr + schemas.stderr;
  } finally {
    rmSync(own, { recursive: true });
  }
}

describe.skipIf(missing !== undefined)(`kubernetes-models from npm ${missing ?? ''}`, () => {
  it.each(['kubernetes.yaml', 'kubernetes-cluster.yaml'])('finds nothing in %s', async (name) => {
    expect(await findings(manifests(name))).toBe('');
  });

  it.each([
    ['automountServiceAccountToken', 'mountServiceAccountToken', "'IPodSpec'"],
    ['imagePullPolicy: IfNotPresent', 'imagePullPolicy: Sometimes', 'allowed values'],
    ['containerPort: 8080', 'containerPort: http', 'must be integer'],
  ])('would find a fault: %s as %s', async (right, wrong, finding) => {
    const text = manifests('kubernetes.yaml').replace(right, wrong);
    expect(await findings(text)).toContain(finding);
  });
});

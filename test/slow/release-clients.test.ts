/** The packages of clients, installed into empty projects, call a running server. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isBuildTool } from '../../scripts/build-tools.mjs';
import { makeNpmPackage, makeWheel } from '../../scripts/release/clients.mjs';
import { listOfParts } from '../../scripts/release/list-of-parts.mjs';
import { isMoonshineFetched } from '../../scripts/setup/moonshine.mjs';
import { mustRun, shell } from '../clients/shell.ts';
import { missingPrograms } from '../support/audio-files.ts';
import { scratchFolder } from '../support/command-line.ts';
import { type Parley, startParley } from '../support/parley.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());
const release = (name: string) => {
  mkdirSync(folder.file(name), { recursive: true });
  return { version: '1.2.3', epoch: '1764000000', output: folder.file(name) };
};
const sumsIn = (name: string) =>
  readdirSync(folder.file(name)).map((file) => [
    file,
    createHash('sha256')
      .update(readFileSync(`${folder.file(name)}/${file}`))
      .digest('hex'),
  ]);

/** The sample of a language on the page. */
function sample(language: 'ts' | 'python'): string {
  const page = readFileSync(new URL('../../docs/versions.md', import.meta.url), 'utf8');
  const [, code = ''] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page) ?? [];
  return code;
}

/** The reason why packages cannot be installed here. */
async function unreachable(command: string): Promise<string | undefined> {
  const { code } = await shell(command, { cwd: folder.path });
  if (code === 0) return undefined;
  process.stderr.write(`NOT TESTED: a package of clients (\`${command}\` failed)\n`);
  return `\`${command}\` failed`;
}

let parley: Parley;
beforeAll(async () => {
  parley = await startParley();
});
afterAll(() => parley.close());
const server = () => ({ KEY: parley.apiKey, BASE: new URL(parley.baseUrl).origin });

const noNpm = await unreachable('npm view @connectrpc/connect version');
describe.skipIf(noNpm !== undefined)(`@parley/client ${noNpm ?? ''}`, () => {
  it('is installed from its file, has types, and calls the server as its readme says', async () => {
    await makeNpmPackage(release('npm'));
    const project = folder.file('node-project');
    mkdirSync(project);
    writeFileSync(`${project}/package.json`, '{"type": "module"}');
    const versions = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const connect = ['connect', 'connect-node'].map(
      (name) => `@connectrpc/${name}@${versions.dependencies[`@connectrpc/${name}`]}`,
    );
    await mustRun(`npm install --no-audit --no-fund ../npm/parley-client-1.2.3.tgz ${connect.join(' ')}`, {
      cwd: project,
    });
    const readme = readFileSync(`${project}/node_modules/@parley/client/README.md`, 'utf8');
    expect(readme).toContain(sample('ts'));
    const code = `declare const process: { env: Record<string, string> };\n${sample('ts')}`;
    const program = code.replace("'http://127.0.0.1:8080'", 'process.env.BASE');
    writeFileSync(
      `${project}/program.ts`,
      `${program}\nfor (const { id } of data) console.log(id satisfies string);\n`,
    );
    const options = '--strict --module nodenext --target es2022 --types "" --skipLibCheck --noEmit';
    const tsc = new URL('../../node_modules/.bin/tsc', import.meta.url).pathname;
    await mustRun(`${tsc} ${options} program.ts`, { cwd: project });
    const ran = await shell(`${process.execPath} program.ts`, { cwd: project, env: server() });
    expect(ran).toEqual({ code: 0, stdout: 'flite\npocketsphinx\neliza\n', stderr: '' });
  });

  it('has the same bytes when it is made again', async () => {
    await makeNpmPackage(release('npm-again'));
    expect(sumsIn('npm-again')).toEqual(sumsIn('npm'));
  });
});

const noPython =
  missingPrograms('protoc', 'grpc_python_plugin') ??
  (await unreachable('python3 -m pip download -q --no-deps setuptools==80.9.0 -d pip'));
describe.skipIf(noPython !== undefined)(`parley-client for Python ${noPython ?? ''}`, () => {
  it('is installed from its file and calls the server as its readme says', async () => {
    await makeWheel(release('wheel'));
    const wheel = folder.file('wheel/parley_client-1.2.3-py3-none-any.whl');
    await mustRun(`python3 -m venv venv && venv/bin/pip install -q --prefer-binary ${wheel}`, {
      cwd: folder.path,
    });
    const code = sample('python').replace('"127.0.0.1:8080"', 'os.environ["BASE"].split("//")[1]');
    writeFileSync(
      folder.file('program.py'),
      `${code}\nprint(*[model.id for model in models.data], sep="\\n")\n`,
    );
    const ran = await shell('venv/bin/python program.py', { cwd: folder.path, env: server() });
    expect(ran).toEqual({ code: 0, stdout: 'flite\npocketsphinx\neliza\n', stderr: '' });
    const { stdout } = await shell('find venv -path "*/parley/chat/v1/*" -name "chat_pb2.pyi"', {
      cwd: folder.path,
    });
    expect(stdout.trim()).toMatch(/chat_pb2\.pyi$/);
  });

  it('has the same bytes when it is made again', async () => {
    await makeWheel(release('wheel-again'));
    expect(sumsIn('wheel-again')).toEqual(sumsIn('wheel'));
  });
});

describe('the list of parts', () => {
  it('names every package of the server, the sources of hearing and Node, and is the same each time', async () => {
    const list = await listOfParts(release('list'));
    const lock = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const names = list.components.map(({ name }: { name: string }) => name);
    const recogniser = isMoonshineFetched() ? ['moonshine-tiny-en', 'onnxruntime-web'] : ['pocketsphinx'];
    const own = Object.keys(lock.dependencies).filter((name) => !isBuildTool(name));
    expect(names).toEqual(expect.arrayContaining([...own, ...recogniser, 'ffmpeg', 'lame', 'node']));
    for (const tool of ['vitest', 'esbuild', '@esbuild/linux-x64', 'marked'])
      expect(names).not.toContain(tool);
    expect(list.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    for (const { licenses, purl } of list.components) {
      expect(licenses, purl).toHaveLength(1);
      expect(purl).toMatch(/^pkg:(npm|deb|pypi|generic)\/.+@.+/);
    }
    const refs = [list.metadata.component, ...list.components].map((one) => one['bom-ref']);
    for (const { ref, dependsOn } of list.dependencies)
      expect(refs, ref).toEqual(expect.arrayContaining([ref, ...dependsOn]));
    expect(list.dependencies.map(({ ref }: { ref: string }) => ref)).toContain(refs[0]);
    expect(await listOfParts(release('list'))).toEqual(list);
  });
});

/** The packages of clients: generated code with its types, for npm and for Python. */
import { copyFileSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';
import { mustRun, withScratch } from './scratch.mjs';

/** @typedef {import('./version.mjs').Release} Release */

const description = 'Typed services and messages of Parley, a server for speech, transcription and chat';

/** `@parley/client`, for Connect. @param {Release} release */
export function makeNpmPackage({ version, epoch, output }) {
  return withScratch(async (folder) => {
    await mustRun(['tsc', '-p', join(root, 'tsconfig.gen.json'), '--outDir', join(folder, 'all')], { epoch });
    const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    mkdirSync(join(folder, 'package'));
    for (const name of ['parley', 'google'])
      renameSync(join(folder, 'all/gen', name), join(folder, 'package', name));
    const { '@bufbuild/protobuf': protobuf } = own.dependencies;
    const manifest = {
      name: '@parley/client',
      version,
      description,
      license: own.license,
      type: 'module',
      exports: {
        './google/*': { types: './google/*.d.ts', default: './google/*.js' },
        './*': { types: './parley/*.d.ts', default: './parley/*.js' },
      },
      dependencies: { '@bufbuild/protobuf': `^${protobuf}` },
    };
    writeFileSync(join(folder, 'package/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    writeTexts(join(folder, 'package'), 'typescript');
    const pack = ['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
    await mustRun(pack, { epoch, cwd: join(folder, 'package') });
    copyFileSync(join(folder, `parley-client-${version}.tgz`), join(output, `parley-client-${version}.tgz`));
  });
}

/** `parley-client`, for grpcio. @param {Release} release */
export function makeWheel({ version, epoch, output }) {
  return withScratch(async (folder) => {
    const code = join(folder, 'src');
    mkdirSync(code);
    const proto = join(root, 'proto');
    const files = globSync('parley/**/*.proto', { cwd: proto }).sort();
    const plugin = await mustRun(['sh', '-c', 'command -v grpc_python_plugin'], { epoch });
    const makers = [`--plugin=protoc-gen-grpc_python=${plugin}`, `--grpc_python_out=${code}`];
    const outputs = [...makers, `--python_out=${code}`, `--pyi_out=${code}`];
    await mustRun(['protoc', '-I', proto, ...outputs, ...files], { epoch });
    writeFileSync(join(code, 'parley', 'py.typed'), '');
    writeFileSync(join(folder, 'pyproject.toml'), pyproject(version));
    writeTexts(folder, 'python');
    const built = ['python3', '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', output, '.'];
    await mustRun(built, { epoch, cwd: folder });
  });
}

/** @param {string} version */
function pyproject(version) {
  return `[build-system]
requires = ["setuptools==80.9.0"]
build-backend = "setuptools.build_meta"

[project]
name = "parley-client"
version = "${version}"
description = "${description}"
readme = "README.md"
license = "Apache-2.0"
license-files = ["LICENSE"]
requires-python = ">=3.9"
dependencies = ["grpcio>=1.51", "protobuf>=3.21", "googleapis-common-protos>=1.56"]

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
"*" = ["*.pyi", "py.typed"]
`;
}

/** The licence, and how to call a server. @param {string} folder @param {'typescript' | 'python'} language */
function writeTexts(folder, language) {
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const page = readFileSync(join(root, 'docs/versions.md'), 'utf8');
  const fence = language === 'typescript' ? 'ts' : 'python';
  const [, sample = ''] = new RegExp(`\`\`\`${fence}\\n(.*?)\`\`\``, 's').exec(page) ?? [];
  writeFileSync(join(folder, 'README.md'), `# ${description}\n\n\`\`\`${fence}\n${sample}\`\`\`\n`);
}

/** The TypeScript page: a project that installs the package sees it through its `exports`. */
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from './page.ts';
import { describeClientProgram } from './program.ts';
import { mustRun } from './shell.ts';

const project = new URL('../..', import.meta.url).pathname;

/** The package with the generated code that `npm run build` compiles. Clients do not use the rest of the build. */
async function installParley(modules: string): Promise<void> {
  const folder = join(modules, 'parley');
  mkdirSync(folder);
  copyFileSync(join(project, 'package.json'), join(folder, 'package.json'));
  const config = {
    extends: join(project, 'tsconfig.gen.json'),
    include: [join(project, 'gen')],
    compilerOptions: { rootDir: project, outDir: join(folder, 'dist'), typeRoots: [typesOf(project)] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await mustRun(`tsc -p ${folder}`, {});
}

const typesOf = (folder: string) => join(folder, 'node_modules/@types');

describeClientProgram({
  page: 'typescript',
  missing: undefined,
  async build(home, env) {
    const client = join(home, 'client');
    const modules = join(client, 'node_modules');
    mkdirSync(modules, { recursive: true });
    for (const scope of ['@bufbuild', '@connectrpc', '@types', 'undici-types']) {
      symlinkSync(join(project, 'node_modules', scope), join(modules, scope));
    }
    await installParley(modules);
    const { command } = readPage('typescript');
    await mustRun(command('take'), { env });
    writeFileSync(join(client, 'package.json'), JSON.stringify({ type: 'module' }));
    // The declarations of the package are checked too, for users with stricter settings than ours.
    const options = ['--strict', '--module nodenext', '--target es2024', '--types node', '--noEmit'];
    const strict = ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--erasableSyntaxOnly'];
    const check = ['tsc', ...options, ...strict, 'client.ts'].join(' ');
    await mustRun(check, { cwd: client });
    // The package that protoc writes has the same names.
    mkdirSync(join(modules, '.bin'));
    symlinkSync(join(project, 'node_modules/.bin/protoc-gen-es'), join(modules, '.bin/protoc-gen-es'));
    for (const step of ['schemas', 'protoc']) await mustRun(command(step), { cwd: client, env });
    await mustRun(`mv node_modules/parley . && ln -s ../gen node_modules/parley`, { cwd: client });
    await mustRun(check, { cwd: client });
    await mustRun('rm node_modules/parley && mv parley node_modules/', { cwd: client });
  },
});

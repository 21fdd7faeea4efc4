/** llama-server, built from the history of llama.cpp that the npm package of node-llama-cpp contains. */
import { mustRun } from '../../clients/shell.ts';
import { missingPrograms } from '../../support/audio-files.ts';
import { type Installed, installClient } from './cache.ts';

/** For a build of some minutes on a busy machine. */
const buildMsMax = 3_600_000;

/** Only what the server needs, with few optimisations: the models of tests are tiny. */
const build = `
npm pack --silent "$(cat package.txt)" >package.name
tar -xzf "$(cat package.name)" package/llama/gitRelease.bundle
git -c advice.detachedHead=false clone --quiet package/llama/gitRelease.bundle sources
cmake -S sources -B build -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_FLAGS=-O1 -DBUILD_SHARED_LIBS=OFF \\
  -DGGML_OPENMP=OFF -DGGML_NATIVE=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_APP=OFF \\
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF
nice cmake --build build --target llama-server --parallel 2
cp build/bin/llama-server .
rm -rf package package.name ./*.tgz sources build
`;

/** The program is in its folder. */
export async function installLlamaServer(): Promise<Installed> {
  const missing = missingPrograms('npm', 'git', 'cmake', 'g++');
  if (missing !== undefined) {
    process.stderr.write(`NOT TESTED: llama-server (${missing})\n`);
    return { missing };
  }
  const source = new URL('llama-server', import.meta.url).pathname;
  return installClient(source, 'package.txt', (cwd) => mustRun(build, { cwd, timeoutMs: buildMsMax }));
}

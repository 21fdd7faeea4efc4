/**
 * The programs that transcription needs, and those with which tests look at results: Debian's packages, installed where that
 * takes nobody's leave. Parley runs without them too, so nothing here fails: what is missing is told.
 *
 * SETUP_PROGRAMS=keep in the environment leaves the system as it is.
 */
import { existsSync } from 'node:fs';
import { installPackages, noteFailure, recentFailure, rootPrefix } from './apt.mjs';
import { SetupFailure } from './failure.mjs';
import { findProgram } from './run.mjs';
import { say } from './say.mjs';
import { doSteps } from './step.mjs';

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string} debianPackage
 * @property {readonly string[]} [folders] where it is one of these folders or files, rather than a program on PATH
 */

/** @type {readonly Program[]} */
export const programsToTranscribe = [
  { name: 'ffmpeg', debianPackage: 'ffmpeg' },
  { name: 'pocketsphinx_batch', debianPackage: 'pocketsphinx' },
  {
    name: 'the English model of pocketsphinx',
    debianPackage: 'pocketsphinx-en-us',
    folders: ['/usr/share', '/usr/local/share', '/opt/homebrew/share'].map(
      (folder) => `${folder}/pocketsphinx/model/en-us`,
    ),
  },
];

/** Of Debian's own Python, which is /usr/bin/python3. */
const pythonModules = '/usr/lib/python3/dist-packages';

/** @type {readonly Program[]} */
export const programsToTest = [
  { name: 'flite', debianPackage: 'flite' },
  { name: 'sox', debianPackage: 'sox' },
  { name: 'curl', debianPackage: 'curl' },
  { name: 'ps', debianPackage: 'procps' },
  { name: 'strip', debianPackage: 'binutils' },
  // A client that is not JavaScript.
  { name: 'protoc', debianPackage: 'protobuf-compiler' },
  { name: 'grpc_python_plugin', debianPackage: 'protobuf-compiler-grpc' },
  { name: 'gRPC for Python', debianPackage: 'python3-grpcio', folders: [`${pythonModules}/grpc`] },
  {
    name: 'protobuf for Python',
    debianPackage: 'python3-protobuf',
    folders: [`${pythonModules}/google/protobuf`],
  },
];

/**
 * What the slow tests need too, to compile clients in Go and Java: some 230 MB to fetch and 1 GB on the disk.
 *
 * @type {readonly Program[]}
 */
export const programsToTestSlowly = [
  { name: 'go', debianPackage: 'golang-go' },
  { name: 'protoc-gen-go', debianPackage: 'protoc-gen-go' },
  { name: 'protoc-gen-go-grpc', debianPackage: 'protoc-gen-go-grpc' },
  goSource('gRPC for Go', 'golang-google-grpc-dev', 'google.golang.org/grpc'),
  goSource("Google's messages for Go", 'golang-google-genproto-dev', 'google.golang.org/genproto'),
  goSource('protobuf for Go', 'golang-google-protobuf-dev', 'google.golang.org/protobuf'),
  // gRPC takes version 1.3 of it where nothing is said, which does not fit what the plugin generates and has no such file.
  goSource(
    'protobuf 1.5 for Go',
    'golang-github-golang-protobuf-1-5-dev',
    'github.com/golang/protobuf/proto/wire.go',
  ),
  { name: 'javac', debianPackage: 'default-jdk-headless' },
  { name: 'grpc_java_plugin', debianPackage: 'protobuf-compiler-grpc-java-plugin' },
  javaLibrary('libgrpc-java', 'grpc-netty'),
  javaLibrary('libprotobuf-java', 'protobuf'),
  javaLibrary('libnetty-java', 'netty-codec-http2'),
  javaLibrary('libnetty-tcnative-java', 'netty-tcnative'),
  javaLibrary('libguava-java', 'guava'),
  javaLibrary('libperfmark-java', 'perfmark-api'),
  javaLibrary('libgeronimo-annotation-1.3-spec-java', 'geronimo-annotation-1.3-spec'),
];

/** @param {string} name @param {string} debianPackage @param {string} path @returns {Program} */
function goSource(name, debianPackage, path) {
  return { name, debianPackage, folders: [`/usr/share/gocode/src/${path}`] };
}

/** @param {string} debianPackage @param {string} jar @returns {Program} */
function javaLibrary(debianPackage, jar) {
  return { name: `${jar}.jar`, debianPackage, folders: [`/usr/share/java/${jar}.jar`] };
}

/**
 * Installs what is missing, where it can, and tells what is missing still.
 *
 * @param {readonly Program[]} wanted
 * @param {string} again the command that was run
 * @param {{ tryAgain?: boolean }} [options] `tryAgain`: also what has failed within a day
 */
export async function provide(wanted, again, { tryAgain = false } = {}) {
  const missing = wanted.filter(isMissing);
  if (missing.length === 0) return;
  const packages = missing.map(({ debianPackage }) => debianPackage);
  const failure =
    (tryAgain ? undefined : recentFailure(packages)) ?? (await install(missing, packages, again));
  const stillMissing = missing.filter(isMissing);
  if (stillMissing.length > 0) say(explainMissing(stillMissing, failure));
}

/**
 * @param {readonly Program[]} missing
 * @param {readonly string[]} packages
 * @param {string} again
 * @returns {Promise<string | undefined>} why it failed
 */
async function install(missing, packages, again) {
  try {
    const prefix = await rootPrefix();
    const step = {
      doing: `Installing ${packages.join(', ')} (apt-get)`,
      isDone: async () => !missing.some(isMissing),
      work: () => installPackages(packages, prefix),
    };
    await doSteps([step], again);
    return undefined;
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    noteFailure(packages, error.message);
    return error.message;
  }
}

/** @param {Program} program */
function isMissing({ name, folders }) {
  return folders === undefined
    ? findProgram(name) === undefined
    : !folders.some((folder) => existsSync(folder));
}

/**
 * @param {readonly Program[]} missing
 * @param {string} [failure] why they could not be installed
 */
export function explainMissing(
  missing,
  failure = 'Their packages are installed, but PATH does not lead to them.',
) {
  const names = new Intl.ListFormat('en').format(missing.map(({ name }) => name));
  const packages = missing.map(({ debianPackage }) => debianPackage).join(' ');
  const install = `apt-get update && apt-get install -y --no-install-recommends ${packages}`;
  const command = process.getuid?.() === 0 ? install : install.replaceAll('apt-get', 'sudo apt-get');
  const consequence = missing.some((program) => programsToTranscribe.includes(program))
    ? 'Requests to transcribe are answered 503 engine_unavailable; all else works.'
    : 'Tests that need them fail, or are skipped.';
  return [
    `Missing: ${names}. ${consequence}`,
    `  Why set-up did not install them: ${failure}`,
    `  To install them on Debian or Ubuntu: ${command}`,
    '  To let set-up try again before a day has passed: node scripts/setup.mjs programs',
  ].join('\n');
}

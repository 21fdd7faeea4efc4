/**
 * Debian packages that Parley and its tests run, installed by apt-get as root or by sudo without a password. Parley works
 * without them too, so set-up goes on if it cannot install them, and says what is missing.
 *
 * SETUP_PROGRAMS=keep in the environment leaves the system as it is.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptProgress, aptStatus, Progress } from './progress.mjs';
import { run, SetupFailure, say } from './run.mjs';
import { doStep, notes } from './steps.mjs';

const failureNote = join(notes, 'apt-get-failed');
const retryAfterMs = 24 * 60 * 60 * 1000;

const pythonModules = '/usr/lib/python3/dist-packages';
const goSources = '/usr/share/gocode/src';
const javaLibraries = '/usr/share/java';

/** Later distributions have a package that depends on the one with the number. */
const compilerRuntime = isDebian12() ? 'libclang-rt-14-dev-wasm32' : 'libclang-rt-dev-wasm32';

function isDebian12() {
  const file = '/etc/os-release';
  return existsSync(file) && /^VERSION_CODENAME=bookworm$/m.test(readFileSync(file, 'utf8'));
}

/**
 * Packages, each with a file that shows that it is installed: a program on PATH, or an absolute path.
 *
 * @typedef {Readonly<Record<string, string>>} Packages
 */
export const packages = {
  /** To compile what transcription needs: 100 MB to download. */
  compiler: {
    clang: 'clang',
    lld: 'wasm-ld',
    'wasi-libc': '/usr/include/wasm32-wasi',
    [compilerRuntime]: `/var/lib/dpkg/info/${compilerRuntime}.list`,
    'dpkg-dev': 'dpkg-source',
  },
  tests: {
    ffmpeg: 'ffmpeg',
    pocketsphinx: 'pocketsphinx_batch',
    'pocketsphinx-en-us': '/usr/share/pocketsphinx/model/en-us',
    flite: 'flite',
    sox: 'sox',
    curl: 'curl',
    /** For tests in a browser: 110 MB to download. */
    chromium: 'chromium',
    procps: 'ps',
    binutils: 'strip',
    // The programs only: no cluster is created, and no service runs.
    postgresql: '/usr/lib/postgresql',
    'libprotobuf-dev': '/usr/include/google/protobuf/descriptor.proto',
    'protobuf-compiler': 'protoc',
    'protobuf-compiler-grpc': 'grpc_python_plugin',
    'python3-grpcio': `${pythonModules}/grpc`,
    'python3-protobuf': `${pythonModules}/google/protobuf`,
  },
  /** A second browser, compilers for clients in Go and Java, proxies, containers and promtool: 390 MB to download, 1.7 GB on the disk. */
  slowTests: {
    'firefox-esr': 'firefox-esr',
    haproxy: '/usr/sbin/haproxy',
    'nginx-light': '/usr/sbin/nginx',
    caddy: 'caddy',
    podman: 'podman',
    'podman-compose': 'podman-compose',
    // For the networks of containers.
    iptables: '/usr/sbin/iptables',
    runc: 'runc',
    prometheus: 'promtool',
    'golang-go': 'go',
    'protoc-gen-go': 'protoc-gen-go',
    'protoc-gen-go-grpc': 'protoc-gen-go-grpc',
    'golang-google-grpc-dev': `${goSources}/google.golang.org/grpc`,
    'golang-google-genproto-dev': `${goSources}/google.golang.org/genproto`,
    'golang-google-protobuf-dev': `${goSources}/google.golang.org/protobuf`,
    faketime: 'faketime',
    // Without it gRPC takes version 1.3, which lacks this file and does not support the code that the plugin generates.
    'golang-github-golang-protobuf-1-5-dev': `${goSources}/github.com/golang/protobuf/proto/wire.go`,
    'default-jdk-headless': 'javac',
    'protobuf-compiler-grpc-java-plugin': 'grpc_java_plugin',
    'libgrpc-java': `${javaLibraries}/grpc-netty.jar`,
    'libprotobuf-java': `${javaLibraries}/protobuf.jar`,
    'libnetty-java': `${javaLibraries}/netty-codec-http2.jar`,
    'libnetty-tcnative-java': `${javaLibraries}/netty-tcnative.jar`,
    'libguava-java': `${javaLibraries}/guava.jar`,
    'libperfmark-java': `${javaLibraries}/perfmark-api.jar`,
    'libgeronimo-annotation-1.3-spec-java': `${javaLibraries}/geronimo-annotation-1.3-spec.jar`,
  },
  /** To build and run the executable of another processor. */
  release: {
    'qemu-user-static': 'qemu-aarch64-static',
    'binutils-aarch64-linux-gnu': 'aarch64-linux-gnu-strip',
    'libstdc++6-arm64-cross': '/usr/aarch64-linux-gnu/lib/libstdc++.so.6',
  },
};

/**
 * @param {Packages} wanted
 * @param {Progress} [progress]
 * @returns whether all are installed
 */
export async function provide(wanted, progress = new Progress()) {
  const missing = missingOf(wanted);
  if (missing.length === 0) return true;
  const failure = recentFailure() ?? (await install(missing, progress));
  const stillMissing = missingOf(wanted);
  if (stillMissing.length > 0) say(explainMissing(stillMissing, failure));
  return stillMissing.length === 0;
}

/** @param {Packages} wanted */
function missingOf(wanted) {
  const folders = (process.env['PATH'] ?? '').split(':');
  const isOnPath = (/** @type {string} */ name) => folders.some((folder) => existsSync(join(folder, name)));
  return Object.entries(wanted).flatMap(([name, sign]) =>
    (sign.startsWith('/') ? existsSync(sign) : isOnPath(sign)) ? [] : [name],
  );
}

/**
 * @param {readonly string[]} missing
 * @param {Progress} progress
 * @returns {Promise<string | undefined>} the reason of a failure
 */
async function install(missing, progress) {
  if (process.env['SETUP_PROGRAMS'] === 'keep') return 'SETUP_PROGRAMS=keep forbids it.';
  if (!(await run(['apt-get', '--version'])).ok) return 'This system has no apt-get.';
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (!(await run([...sudo, 'true'], { timeout: 5_000 })).ok)
    return 'It requires root, or sudo without a password.';
  try {
    const doing = `Installing ${missing.join(', ')} (apt-get)`;
    const work = () => aptGetInstall(sudo, missing, progress);
    await doStep({ doing, takes: 'a minute', work, progress: () => progress.text }, undefined);
    return undefined;
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    return error.message;
  }
}

/** Debian's packages start their services, such as Prometheus, unless this file forbids it. */
const withoutServices = `policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  # Without a trap the shell would end at once and keep the file.
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > $policy && chmod 755 $policy || exit
fi
"$@"`;

/** @param {readonly string[]} sudo @param {readonly string[]} names @param {Progress} progress */
async function aptGetInstall(sudo, names, progress) {
  // apt asks no questions and does not wait long: a new machine often updates itself and holds the lock, or cannot reach its
  // mirror.
  const settings = [aptStatus, 'DPkg::Lock::Timeout=120', 'Acquire::http::Timeout=15', 'Acquire::Retries=1'];
  const environment = ['DEBIAN_FRONTEND=noninteractive', 'NEEDRESTART_SUSPEND=1'];
  const aptGet = [...sudo, 'env', ...environment, 'apt-get', '-q', ...settings.flatMap((one) => ['-o', one])];
  // If the update fails, the old package lists may do.
  const onOutput = aptProgress(progress);
  const update = await run([...aptGet, 'update'], { timeout: 120_000, onOutput });
  const install = [...aptGet, 'install', '-y', '--no-install-recommends', '--no-remove'];
  if (names.includes('postgresql')) await forbidCluster(sudo, install);
  const quietly = [...sudo, 'sh', '-c', withoutServices, 'sh', ...install, ...names];
  // An interrupted installation would need a repair by hand.
  const { ok, output } = await run(quietly, { timeout: 900_000, signal: undefined, onOutput });
  if (ok) return;
  const message = explainAptFailure(`${update.output}\n${output}`);
  mkdirSync(notes, { recursive: true });
  writeFileSync(failureNote, message);
  throw new SetupFailure(message);
}

/**
 * Debian's package creates a database cluster and starts it as a service, unless this file says otherwise. A machine that has the
 * programs keeps its own.
 *
 * @param {readonly string[]} sudo @param {readonly string[]} install
 */
async function forbidCluster(sudo, install) {
  const file = '/etc/postgresql-common/createcluster.conf';
  const { ok, output } = await run([...install, 'postgresql-common'], {
    timeout: 900_000,
    signal: undefined,
  });
  if (!ok) throw new SetupFailure(explainAptFailure(output));
  const said = await run([...sudo, 'sed', '-i', '$a create_main_cluster = false', file]);
  if (!said.ok) throw new SetupFailure(`${file} cannot be changed: ${said.output}`);
}

/** @param {string} output of apt-get, whose error messages need no explanation */
export function explainAptFailure(output) {
  const errors = output.split('\n').filter((line) => /^(E|W|dpkg):|was ended by/.test(line));
  const retry = `apt-get failed. Set-up tries again after a day, or when ${failureNote} is gone.`;
  return [retry, ...errors.slice(-4)].join('\n    ');
}

/** The reason why apt-get failed within the last day. */
function recentFailure() {
  const isRecent = existsSync(failureNote) && Date.now() - statSync(failureNote).mtimeMs < retryAfterMs;
  return isRecent ? readFileSync(failureNote, 'utf8') : undefined;
}

/** @param {readonly string[]} names of packages @param {string} [failure] */
export function explainMissing(names, failure = 'They are installed, but their programs are not on PATH.') {
  const command = `apt-get update && apt-get install -y --no-install-recommends ${names.join(' ')}`;
  const isRoot = process.getuid?.() === 0;
  const consequence = names.some((name) => name in packages.compiler)
    ? 'Transcription requests get 503 engine_unavailable; everything else works.'
    : 'Tests that need them fail or are skipped.';
  return [
    `These Debian packages are missing: ${names.join(', ')}. ${consequence}`,
    `  Why set-up did not install them: ${failure}`,
    `  To install them: ${isRoot ? command : command.replaceAll('apt-get', 'sudo apt-get')}`,
  ].join('\n');
}

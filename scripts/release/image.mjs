/** An image for containers: the executable with its libraries, and nothing else. No program of it runs while it is made. */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun, withScratch } from './scratch.mjs';
import { sameTar } from './tar-archive.mjs';
import { debianArch } from './version.mjs';

/** Debian's packages with the libraries that the executable links to. */
const libraries = ['libc6', 'libstdc++6', 'libgcc-s1'];

const seconds = 1_000_000_000;

/** The same as in deploy/Dockerfile. The form of OCI has no health check, so the image has Docker's. */
export const imageSettings = {
  User: '10001:10001',
  WorkingDir: '/var/lib/parley',
  Env: [
    'PATH=/usr/bin',
    'PARLEY_HOST=0.0.0.0',
    'PARLEY_DATA_DIR=/var/lib/parley/data',
    'MALLOC_TRIM_THRESHOLD_=131072',
  ],
  Volumes: { '/var/lib/parley': {} },
  ExposedPorts: { '8080/tcp': {} },
  StopSignal: 'SIGTERM',
  Healthcheck: {
    Test: ['CMD', 'parley', 'health'],
    Interval: 30 * seconds,
    Timeout: 6 * seconds,
    StartPeriod: 60 * seconds,
    Retries: 3,
  },
  Entrypoint: ['parley'],
  Cmd: ['serve'],
};

/** Writes the form that `docker load` and `podman load` take; podman 4.3 refuses it compressed. @param {import('./version.mjs').Program} program */
export function makeImage({ version, epoch, output, executable, arch }) {
  return withScratch(async (folder) => {
    const system = join(folder, 'system');
    const data = join(folder, 'data');
    const image = join(folder, 'image');
    for (const made of [join(system, 'usr/bin'), join(data, 'var/lib/parley'), image])
      mkdirSync(made, { recursive: true });
    await extractLibraries(system, debianArch[arch], { epoch, cwd: folder });
    copyFileSync(executable, join(system, 'usr/bin/parley'));
    const tar = ['tar', ...sameTar(epoch)];
    const layer = join(folder, 'layer.tar');
    await mustRun([...tar, '-cf', layer, '-C', system, '.'], { epoch });
    const own = ['--owner=10001', '--group=10001', '--mode=0700'];
    await mustRun([...tar, ...own, '-rf', layer, '-C', data, './var/lib/parley'], { epoch });
    const layerSum = sumOf(readFileSync(layer));
    copyFileSync(layer, join(image, `${layerSum}.tar`));
    const description = JSON.stringify({
      architecture: debianArch[arch],
      os: 'linux',
      created: new Date(Number(epoch) * 1000).toISOString(),
      config: imageSettings,
      rootfs: { type: 'layers', diff_ids: [`sha256:${layerSum}`] },
    });
    const Config = `${sumOf(description)}.json`;
    writeFileSync(join(image, Config), description);
    const manifest = [{ Config, RepoTags: [`localhost/parley:${version}`], Layers: [`${layerSum}.tar`] }];
    writeFileSync(join(image, 'manifest.json'), JSON.stringify(manifest));
    const archive = join(output, `parley-${version}-image-${debianArch[arch]}.tar`);
    await mustRun([...tar, '-cf', archive, ...readdirSync(image).sort()], { epoch, cwd: image });
  });
}

/** @param {Buffer | string} content */
function sumOf(content) {
  return createHash('sha256').update(content).digest('hex');
}

/**
 * @param {string} system the root folder of the image
 * @param {string} arch Debian's name
 * @param {{ epoch: string, cwd: string }} options a scratch folder
 */
async function extractLibraries(system, arch, options) {
  // Lists and downloads in a folder of their own, as the system may have another processor.
  const apt = join(options.cwd, 'apt');
  for (const name of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(apt, name), { recursive: true });
  const settings = [
    `Dir::State::lists=${apt}/lists`,
    `Dir::Cache=${apt}/cache`,
    'Dir::State::status=/dev/null',
    `APT::Architecture=${arch}`,
    `APT::Architectures::=${arch}`,
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
  ];
  const aptGet = ['apt-get', '-q', ...settings.flatMap((one) => ['-o', one])];
  await mustRun([...aptGet, 'update'], options);
  await mustRun([...aptGet, 'download', ...libraries], options);
  const packages = readdirSync(options.cwd).filter((name) => name.endsWith('.deb'));
  for (const name of packages.sort()) await mustRun(['dpkg-deb', '--extract', name, system], options);
}

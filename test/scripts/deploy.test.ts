/** The files in deploy/ match the program and each other. If systemd is installed, its tools check the unit too. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { serviceManager } from '../../src/cli/commands/serve/service-manager.ts';
import { loadConfig } from '../../src/config/config.ts';
import { parley, printed, serve, until } from '../support/command-line.ts';
import { startHttp } from '../support/http-server.ts';

const deployFile = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

function missing(program: string): string | undefined {
  const found = spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
  return found ? undefined : `${program} is not installed`;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-deploy-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Whether a stop may last longer than the server needs to report not ready and to drain. */
function outlasts(graceSeconds: number, settings: object = {}): boolean {
  const { drainMs, unreadyMs } = loadConfig({ env: {}, overrides: settings }).server;
  return graceSeconds * 1000 > drainMs + unreadyMs;
}

describe('the systemd unit', () => {
  const unit = deployFile('parley.service');
  const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1];
  const noSystemd = missing('systemd-analyze');

  /** The unit beside its socket, with an existing program, as Parley is not installed. */
  function unitFile() {
    const [file, socketFile] = [join(folder, 'parley.service'), join(folder, 'parley.socket')];
    writeFileSync(file, unit.replace('/usr/local/bin/parley', process.execPath));
    writeFileSync(socketFile, deployFile('parley.socket'));
    return { file, socketFile };
  }

  it.skipIf(noSystemd !== undefined)(`passes systemd-analyze verify with its socket${why(noSystemd)}`, () => {
    const { file, socketFile } = unitFile();
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', file, socketFile], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });

  it.skipIf(noSystemd !== undefined)(`exposes little of the system${why(noSystemd)}`, () => {
    const threshold = 20;
    const args = ['security', '--offline=true', `--threshold=${threshold}`, unitFile().file];
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect([status, stderr], stdout.slice(-200)).toEqual([0, '']);
  });

  it('listens by its socket where the server listens by default', () => {
    const { host, port } = loadConfig({ env: {} }).server;
    expect(deployFile('parley.socket')).toContain(`\nListenStream=${host}:${port}\n`);
  });

  it('gives the server more time to stop than it needs, and restarts it when it fails', () => {
    expect(outlasts(Number(setting('TimeoutStopSec')))).toBe(true);
    expect(setting('Restart')).toBe('on-failure');
    // By default systemd stops starting a unit that fails too often, until a person starts it. This unit is always
    // restarted.
    expect(setting('StartLimitIntervalSec')).toBe('0');
    expect(Number(setting('RestartSec'))).toBeGreaterThanOrEqual(1);
    expect(setting('Type')).toBe('notify');
    expect(Number(setting('WatchdogSec'))).toBeGreaterThan(0);
  });

  it('has a command that starts the server', async () => {
    const [, ...args] = (setting('ExecStart') ?? '').split(' ');
    const config = join(folder, 'parley.yaml');
    const dataDir = join(folder, 'data');
    writeFileSync(config, 'server: { port: 0 }\n');
    const own = args.map((arg) =>
      arg.replace('/etc/parley/parley.yaml', config).replace('/var/lib/parley', dataDir),
    );
    expect(own[0]).toBe('serve');
    const server = await serve(own.slice(1), { cwd: folder });
    expect(await printed(['health', '--ready', '--data-dir', dataDir], { cwd: folder })).toBe('ready\n');
    await server.close();
    expect((await server.ended).code).toBe(0);
  });
});

describe('the notifications to systemd', () => {
  const unable = missing('systemd-notify') ?? missing('python3');
  const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode(), flush=True)
`;

  it.skipIf(unable !== undefined)(
    `say that the server is ready, alive and stopping${why(unable)}`,
    async () => {
      const socket = join(folder, 'notify');
      const python = spawn('python3', ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
      let heard = '';
      python.stdout.on('data', (chunk: Buffer) => {
        heard += chunk;
      });
      const warnings: string[] = [];
      const log = { info() {}, warn: (_: object, message: string) => warnings.push(message), error() {} };
      const { PATH = '' } = process.env;
      try {
        await until(() => heard.includes('bound'));
        const manager = serviceManager({ PATH, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' }, log);
        expect(heard).not.toContain('READY=1');
        manager.ready();
        await until(() => heard.includes('READY=1') && heard.split('WATCHDOG=1').length > 2);
        manager.stopping();
        await until(() => heard.includes('STOPPING=1'));
        manager.close();
        expect(warnings).toEqual([]);
      } finally {
        python.kill();
      }
    },
  );

  it('are not sent without a socket', () => {
    const fail = () => {
      throw new Error('something was logged');
    };
    const manager = serviceManager({}, { info: fail, warn: fail, error: fail });
    manager.ready();
    manager.stopping();
    manager.close();
  });
});

describe('the Dockerfile', () => {
  const text = deployFile('Dockerfile').replaceAll('\\\n', ' ');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  const instruction = (name: string) => last.find((line) => line.startsWith(`${name} `));

  it('uses images of a named release, and removes the package lists', () => {
    for (const line of lines.filter((one) => one.startsWith('FROM ')))
      expect(line).toMatch(/^FROM \S+:(?!latest)\S+/);
    for (const line of lines.filter((one) => one.includes('apt-get install'))) {
      expect(line).toMatch(/--no-install-recommends .*rm -rf \/var\/lib\/apt\/lists/);
    }
  });

  it('runs the server as a user other than root, with a health check', () => {
    expect(instruction('USER')).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
    const user = lines.indexOf(instruction('USER') ?? '');
    expect(lines.slice(user).some((line) => line.startsWith('RUN '))).toBe(false);
    expect(instruction('HEALTHCHECK')).toContain('CMD ["parley", "health"]');
    expect(JSON.parse(instruction('CMD')?.slice('CMD '.length) ?? '')).toEqual(['serve']);
  });

  it('sets only variables that the program knows', () => {
    const variables = [...(instruction('ENV') ?? '').matchAll(/(PARLEY_\w+)=(\S+)/g)];
    const env = Object.fromEntries(variables.map(([, name, value]) => [name, value]));
    const config = loadConfig({ env });
    expect(config.server).toMatchObject({
      host: '0.0.0.0',
      port: Number(instruction('EXPOSE')?.split(' ')[1]),
    });
    expect(config.dataDir.startsWith(`${JSON.parse(instruction('VOLUME')?.slice(7) ?? '[""]')[0]}/`)).toBe(
      true,
    );
  });

  it('copies the executable from its build', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const copied = /COPY --from=build \/src\/(\S+)/.exec(text)?.[1] ?? '';
    expect(text).toContain('RUN npm run build:binary');
    // binutils contains `strip`, which the slim image of Node lacks.
    const installed = lines.slice(0, lines.indexOf('RUN npm run build:binary')).join('\n');
    expect(installed).toMatch(/apt-get install .* binutils /);
    expect(scripts).toHaveProperty('build:binary');
    expect(deployFile('Dockerfile.dockerignore').split('\n')).toContain(copied.split('/')[0]);
  });
});

describe('the compose file', () => {
  const { services, volumes } = parse(deployFile('compose.yaml'));
  const { parley: service } = services;

  it('keeps the data in a volume, and drops privileges', () => {
    expect(Object.keys(volumes)).toEqual(['data']);
    expect(service.volumes).toEqual(['data:/var/lib/parley']);
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(service.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(
      existsSync(
        new URL(`../../deploy/${service.build.context}/${service.build.dockerfile}`, import.meta.url),
      ),
    ).toBe(true);
  });

  it('gives the server more time to stop than it needs', () => {
    expect(outlasts(Number.parseInt(service.stop_grace_period, 10))).toBe(true);
  });
});

describe('the Kubernetes example', () => {
  const documents = parseAllDocuments(deployFile('kubernetes.yaml'), { uniqueKeys: true });
  const objects = documents.map((document) => document.toJS());
  const of = (kind: string) => objects.find((object) => object.kind === kind);
  const pod = of('Deployment').spec.template.spec;
  const [container] = pod.containers;

  it('is valid YAML, and its objects refer to each other', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(objects.map(({ kind }) => kind)).toEqual([
      'Secret',
      'ConfigMap',
      'PersistentVolumeClaim',
      'Deployment',
      'Service',
    ]);
    const labels = of('Deployment').spec.selector.matchLabels;
    expect([of('Service').spec.selector, of('Deployment').spec.template.metadata.labels]).toEqual([
      labels,
      labels,
    ]);
    expect(pod.volumes).toMatchObject([
      { persistentVolumeClaim: { claimName: of('PersistentVolumeClaim').metadata.name } },
      { configMap: { name: of('ConfigMap').metadata.name } },
      { secret: { secretName: of('Secret').metadata.name } },
      { emptyDir: {} },
    ]);
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name);
    expect(mounted.sort()).toEqual(pod.volumes.map(({ name }: { name: string }) => name).sort());
  });

  it('never has two processes on one database', () => {
    expect(of('Deployment').spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    expect(of('PersistentVolumeClaim').spec.accessModes).toEqual(['ReadWriteOnce']);
  });

  it('runs without privileges', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources.limits.memory).toBe('1Gi');
    expect(`USER ${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}`).toBe(
      /^USER .*$/m.exec(deployFile('Dockerfile'))?.[0],
    );
  });

  it('has valid settings, and gives the server more time to stop than they require', async () => {
    const file = join(folder, 'parley.yaml');
    writeFileSync(file, of('ConfigMap').data['parley.yaml']);
    const { server } = loadConfig({ env: {}, file });
    expect(
      outlasts(pod.terminationGracePeriodSeconds, {
        server: { drainMs: server.drainMs, unreadyMs: server.unreadyMs },
      }),
    ).toBe(true);
    // The probe must see that the server is not ready before connections are closed.
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(server.unreadyMs).toBeGreaterThanOrEqual(periodSeconds * failureThreshold * 1000);
    const running = await serve(['--config', file, '--data-dir', join(folder, 'data')], { cwd: folder });
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      const { path } = container[probe].httpGet;
      expect((await fetch(new URL(path, running.baseUrl))).status, probe).toBe(200);
    }
    running.kill('SIGKILL');
    await running.ended;
  });
});

describe('parley health', () => {
  it('exits with 1 if no server answers, or one that is not Parley', async () => {
    const nobody = await parley(['health', '--base-url', 'http://127.0.0.1:9']);
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining('is not healthy')]);
    const other = await startHttp((_, response) => response.end('hello'));
    const wrong = await parley(['health', '--base-url', other.origin]);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('is not healthy')]);
    await other.close();
  });

  it('distinguishes a stopping server from a healthy one', async () => {
    const at = ['--data-dir', join(folder, 'data')];
    const options = { cwd: folder, env: { PARLEY_SERVER_UNREADY_MS: '20000' } };
    const server = await serve(at, options);
    expect(await printed(['health', ...at], options)).toBe('ok\n');
    server.kill('SIGTERM');
    await until(() => server.stderr().includes('stopping'));
    const stopping = await parley(['health', '--ready', '--base-url', server.baseUrl], options);
    expect([stopping.code, stopping.stderr]).toEqual([
      1,
      expect.stringContaining('not ready: The server is stopping.'),
    ]);
    expect((await parley(['health', '--base-url', server.baseUrl], options)).code).toBe(0);
    server.kill('SIGKILL');
    await server.ended;
  });
});

function why(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`;
}

/** The examples with three servers on one database match the program and the image that they run. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Config, loadConfig } from '../../src/config/config.ts';

const deployFile = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

let urlFile: string;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-cluster-'));
  urlFile = join(folder, 'store.url');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Whether the database has enough connections for all servers, one more during an upgrade, and a command. */
function fits(servers: number, { store }: Config, args: readonly string[]): boolean {
  const [, connectionsMax] = /max_connections=(\d+)/.exec(args.join(' ')) ?? [];
  const reservedForSuperusers = 3;
  // Heartbeats have a separate connection.
  return (servers + 1) * (store.connectionsMax + 1) + 1 <= Number(connectionsMax) - reservedForSuperusers;
}

function outlasts(graceSeconds: number, { server }: Config): boolean {
  return graceSeconds * 1000 > server.drainMs + server.unreadyMs;
}

describe('the compose file of a cluster', () => {
  const file = deployFile('compose-cluster.yaml');
  const { services, volumes, secrets } = parse(file, { merge: true });
  const { database, migrate, parley } = services;
  const urlLine = /echo "([^"]+)" > deploy\/store\.url/.exec(file)?.[1] ?? '';

  it('starts three servers after the migration, with settings that the program knows', () => {
    writeFileSync(urlFile, urlLine.replace(/\$\(.*?\)/, 'a1'));
    const env = { ...parley.environment, PARLEY_STORE_URL_FILE: urlFile };
    const config = loadConfig({ env });
    expect(config.store.kind).toBe('postgres');
    const { hostname, username, pathname } = new URL(config.storeUrl?.reveal() ?? '');
    expect(services).toHaveProperty(hostname);
    expect([username, pathname]).toEqual([database.environment.POSTGRES_USER, '/parley']);
    expect(parley.deploy.replicas).toBe(3);
    expect(parley.ports).toEqual(['127.0.0.1:8081-8083:8080']);
    expect(parley.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } });
    expect(migrate.command).toEqual(['migrate']);
    expect(fits(parley.deploy.replicas, config, database.command)).toBe(true);
    expect(outlasts(Number.parseInt(parley.stop_grace_period, 10), config)).toBe(true);
  });

  it('keeps no data in a server, and drops privileges', () => {
    for (const service of [parley, migrate]) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(service.volumes).toBeUndefined();
      expect(service.tmpfs[0]).toMatch(/^\/var\/lib\/parley:uid=10001,gid=10001,mode=0700/);
    }
    expect(Object.keys(volumes)).toEqual(['database']);
    expect(Object.keys(secrets).sort()).toEqual([...parley.secrets, ...database.secrets].sort());
    expect(database.environment).not.toHaveProperty('POSTGRES_PASSWORD');
  });
});

describe('the Kubernetes example of a cluster', () => {
  const text = deployFile('kubernetes-cluster.yaml');
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  const objects = documents.map((document) => document.toJS());
  const of = (kind: string, name = 'parley') =>
    objects.find((object) => object.kind === kind && object.metadata.name === name);
  const { spec } = of('Deployment');
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const database = of('StatefulSet', 'parley-database').spec;
  const single = parseAllDocuments(deployFile('kubernetes.yaml')).map((document) => document.toJS());
  const singlePod = single.find(({ kind }) => kind === 'Deployment').spec.template.spec;

  it('is valid YAML, and its objects refer to each other', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    const labels = { 'app.kubernetes.io/name': 'parley' };
    expect(of('Service').spec.selector).toEqual(labels);
    expect(of('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
    expect([spec.selector.matchLabels, spec.template.metadata.labels]).toEqual([labels, labels]);
    expect(of('Service', 'parley-database').spec.selector).toEqual(database.template.metadata.labels);
    expect(database.selector.matchLabels).toEqual(database.template.metadata.labels);
    for (const { volumeMounts, volumes, claims = [] } of [
      { volumeMounts: container.volumeMounts, volumes: pod.volumes },
      {
        volumeMounts: database.template.spec.containers[0].volumeMounts,
        volumes: database.template.spec.volumes,
        claims: database.volumeClaimTemplates.map((one: { metadata: object }) => one.metadata),
      },
    ]) {
      const named = [...volumes, ...claims].map((one: { name: string }) => one.name);
      expect(volumeMounts.map((one: { name: string }) => one.name).sort()).toEqual(named.sort());
    }
  });

  it('runs three servers without data, and starts a new one before an old one stops', () => {
    expect(spec).toMatchObject({
      replicas: 3,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    expect(of('PodDisruptionBudget').spec.minAvailable).toBe(spec.replicas - 1);
    expect(pod.volumes.filter((volume: object) => 'persistentVolumeClaim' in volume)).toEqual([]);
  });

  it('runs the image with the privileges, probes and limits of the single server', () => {
    for (const name of ['startupProbe', 'readinessProbe', 'livenessProbe', 'securityContext', 'resources']) {
      expect(container[name], name).toEqual(singlePod.containers[0][name]);
    }
    expect([container.image, pod.securityContext.runAsUser]).toEqual([
      singlePod.containers[0].image,
      singlePod.securityContext.runAsUser,
    ]);
    expect(pod.automountServiceAccountToken).toBe(false);
  });

  it('has no password: both uses of it refer to the secret that the operator creates', () => {
    expect(of('Secret')).toBeUndefined();
    const created = [...text.matchAll(/--from-literal=([\w-]+)="[^"]*\$password/g)].map(([, key]) => key);
    expect(created).toEqual(['database-password', 'store-url']);
    const { items } = pod.volumes.find(({ name }: { name: string }) => name === 'secrets').secret;
    expect(items).toEqual([{ key: 'store-url', path: 'store-url' }]);
    const { env } = database.template.spec.containers[0];
    const value = '/run/secrets/parley/database-password';
    expect(env).toContainEqual({ name: 'POSTGRES_PASSWORD_FILE', value });
    expect(text).not.toContain('replace-me');
  });

  it('has valid settings and enough connections, and gives a server time to stop', () => {
    const [, url = ''] = /--from-literal=store-url="([^"]+)"/.exec(text) ?? [];
    writeFileSync(urlFile, url.replace('$password', 'a1'));
    const file = join(folder, 'parley.yaml');
    const settings: string = of('ConfigMap').data['parley.yaml'];
    expect(settings).toContain('urlFile: /run/secrets/parley/store-url');
    writeFileSync(file, settings.replace('/run/secrets/parley/store-url', urlFile));
    const config = loadConfig({ env: {}, file });
    expect(new URL(config.storeUrl?.reveal() ?? '').hostname).toBe('parley-database');
    expect(fits(spec.replicas, config, database.template.spec.containers[0].args)).toBe(true);
    expect(outlasts(pod.terminationGracePeriodSeconds, config)).toBe(true);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(config.server.unreadyMs).toBeGreaterThanOrEqual(periodSeconds * failureThreshold * 1000);
  });
});

import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health, HealthCheckResponse_ServingStatus } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { loadConfig } from '../../src/config/config.ts';
import { errorOf, type Parley, startParley } from '../support/parley.ts';

const transports: Record<string, (baseUrl: string) => Transport> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
};
const wires = Object.entries(transports);

async function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
}

async function servicesAt(baseUrl: string): Promise<string[]> {
  async function* question() {
    yield { messageRequest: { case: 'listServices' as const, value: '' } };
  }
  const client = createClient(ServerReflection, createGrpcTransport({ baseUrl }));
  for await (const { messageResponse } of client.serverReflectionInfo(question())) {
    if (messageResponse.case === 'listServicesResponse') {
      return messageResponse.value.service.map(({ name }) => name);
    }
  }
  return [];
}

describe('administration on a separate port', () => {
  let parley: Parley;
  let ports: { main: string; admin: string };
  let asAdmin: { headers: { authorization: string } };
  let asClient: { headers: { authorization: string } };
  beforeAll(async () => {
    parley = await startParley({ settings: { admin: { port: 0 } } });
    ports = { main: new URL(parley.baseUrl).origin, admin: new URL(parley.app.adminBaseUrl).origin };
    asAdmin = { headers: { authorization: `Bearer ${parley.adminKey}` } };
    asClient = { headers: { authorization: `Bearer ${parley.apiKey}` } };
  });
  afterAll(() => parley.close());

  it('has another address, on this machine only', () => {
    expect(parley.app.adminBaseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    expect(ports.admin).not.toBe(ports.main);
  });

  it('is served there over REST, and is not found on the main port', async () => {
    const accounts = '/api/v1/admin/accounts';
    expect((await fetch(ports.admin + accounts, asAdmin)).status).toBe(200);
    const refused = await fetch(ports.main + accounts, asAdmin);
    expect(await errorOf(refused)).toMatchObject({ status: 404, code: 'not_found' });
  });

  it.each(wires)('is served there over %s, and is not implemented on the main port', async (_, transport) => {
    const call = (origin: string) => createClient(AdminService, transport(origin)).listAccounts({}, asAdmin);
    expect((await call(ports.admin)).accounts).toHaveLength(1);
    expect(await codeOf(call(ports.main))).toBe(Code.Unimplemented);
  });

  it.each(wires)('is the only service there over %s', async (_, transport) => {
    const call = (origin: string) => createClient(CatalogService, transport(origin)).listModels({}, asClient);
    expect((await call(ports.main)).data.length).toBeGreaterThan(0);
    expect(await codeOf(call(ports.admin))).toBe(Code.Unimplemented);
  });

  it('is the only service there over REST', async () => {
    const refused = await fetch(`${ports.admin}/api/v1/models`, asClient);
    expect(await errorOf(refused)).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('is reported correctly by reflection and health of both ports', async () => {
    expect(await servicesAt(ports.admin)).toContain('parley.admin.v1.AdminService');
    expect(await servicesAt(ports.admin)).not.toContain('parley.catalog.v1.CatalogService');
    expect(await servicesAt(ports.main)).toContain('parley.catalog.v1.CatalogService');
    expect(await servicesAt(ports.main)).not.toContain('parley.admin.v1.AdminService');
    const health = createClient(Health, createGrpcTransport({ baseUrl: ports.admin }));
    const { status } = await health.check({ service: 'parley.admin.v1.AdminService' });
    expect(status).toBe(HealthCheckResponse_ServingStatus.SERVING);
  });

  it('closes with the main port', async () => {
    const other = await startParley({ settings: { admin: { port: 0 } } });
    const { adminBaseUrl } = other.app;
    await other.close();
    await expect(fetch(`${adminBaseUrl}/admin/accounts`)).rejects.toThrow();
  });
});

describe('the address of administration', () => {
  it('is that of the main port by default', async () => {
    const parley = await startParley();
    expect(parley.app.adminBaseUrl).toBe(parley.baseUrl);
    expect((await parley.admin('/accounts')).status).toBe(200);
    await parley.close();
  });

  it('needs a port', () => {
    expect(() => loadConfig({ env: { PARLEY_ADMIN_HOST: '::1' } })).toThrow(
      '`admin.port` is missing. It must be the port for administration on `admin.host`.',
    );
  });

  it('cannot be that of the main port', () => {
    const env = { PARLEY_PORT: '8081', PARLEY_ADMIN_PORT: '8081' };
    expect(() => loadConfig({ env })).toThrow(
      'PARLEY_ADMIN_PORT: `admin.port` is 8081, but must be another port than `server.port`.',
    );
    expect(loadConfig({ env: { ...env, PARLEY_ADMIN_HOST: '::1' } }).admin).toEqual({
      host: '::1',
      port: 8081,
    });
  });
});

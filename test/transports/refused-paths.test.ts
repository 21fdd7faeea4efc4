/** Every request with a valid key leaves a record, also if nothing is served or the key is of the wrong kind. */
import { connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Parley, startParley } from '../support/parley.ts';

const newest = { size: 1, after: undefined };

describe('a request that no operation serves', () => {
  let parley: Parley;
  let key: string;
  beforeAll(async () => {
    parley = await startParley({ settings: { cors: { origins: ['https://app.example.com'] } } });
    key = await parley.newKey();
  });
  afterAll(() => parley.close());

  const latest = async () => (await parley.app.store.usage.list({}, newest)).items[0];
  const authorized = (authorization: string) => ({ authorization: `Bearer ${authorization}` });
  const url = (path: string) => new URL(path, parley.app.baseUrl);

  it.each([
    ['GET', '/api/v1/nowhere', 'none', 404, 'not_found'],
    ['GET', '/', 'none', 404, 'not_found'],
    ['POST', '/api/v1/audio/speech/', 'none', 404, 'not_found'],
    ['DELETE', '/api/v1/models', 'none', 404, 'not_found'],
    ['HEAD', '/api/v1/chat/completions', 'none', 404, 'not_found'],
    ['OPTIONS', '/api/v1/models', 'none', 404, 'not_found'],
    ['POST', '/parley.catalog.v1.CatalogService/Nothing', 'none', 404, 'not_found'],
    ['GET', '/api/v1/admin/accounts', 'admin', 403, 'insufficient_scope'],
    ['POST', '/api/v1/admin/accounts', 'admin', 403, 'insufficient_scope'],
    ['GET', '/metrics', 'admin', 403, 'insufficient_scope'],
  ])('%s %s leaves a record under `%s`', async (method, path, operation, status, code) => {
    const answer = await fetch(url(path), { method, headers: authorized(key) });
    expect(answer.status).toBe(status);
    const record = await parley.recordOf(answer);
    expect(record).toMatchObject({
      wire: path.startsWith('/parley.') ? 'connect' : 'rest',
      state: 'refused',
      httpStatus: status,
      operation,
      code,
    });
    const listed = await parley.call(`/usage?operation=${operation}&page_size=1`, {
      headers: authorized(key),
    });
    expect(await listed.json()).toMatchObject({ records: [{ id: record.id, operation }] });
  });

  it.each([['/parley.catalog.v1.CatalogService/Nothing', 'none', '12', 'not_found']])(
    'over gRPC to %s leaves a record under `%s`',
    async (path, operation, status, code) => {
      const id = (await latest())?.id;
      expect(await grpcStatus(path, key)).toBe(status);
      await expect.poll(latest).not.toMatchObject({ id });
      expect(await latest()).toMatchObject({ wire: 'grpc', state: 'refused', operation, code });
    },
  );

  it('leaves no record without the key of an account', async () => {
    const { id } = (await latest()) ?? {};
    for (const wrong of ['', `pk_${'0'.repeat(50)}0000000`, parley.adminKey]) {
      const answer = await fetch(url('/api/v1/nowhere'), { headers: authorized(wrong) });
      expect(answer.status).toBe(404);
      await answer.arrayBuffer();
      await grpcStatus('/parley.catalog.v1.CatalogService/Nothing', wrong);
    }
    expect(await latest()).toMatchObject({ id });
  });

  /** The status of a gRPC call without a message. */
  async function grpcStatus(path: string, secret: string): Promise<string> {
    const session = connect(url('/').origin);
    try {
      const headers = {
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      };
      const stream = session.request({ ...headers, ...authorized(secret) });
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const note = (seen: Record<string, unknown>) => {
        if ('grpc-status' in seen) resolve(String(seen['grpc-status']));
      };
      stream.on('response', note).on('trailers', note).on('error', reject).resume().end();
      return await promise;
    } finally {
      session.destroy();
    }
  }
});

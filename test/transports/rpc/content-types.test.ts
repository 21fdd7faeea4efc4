/** Methods and content types outside of gRPC are refused in the same way over both versions of HTTP. */
import { once } from 'node:events';
import { afterAll, describe, expect, it } from 'vitest';
import { startConnected } from '../../support/connected-parley.ts';

const models = 'parley.catalog.v1.CatalogService/ListModels';

const { parley, session, close } = await startConnected();
afterAll(close);

describe.each(['HTTP/1', 'HTTP/2'] as const)('gRPC over %s', (version) => {
  async function answerTo(method: string, contentType: string) {
    const headers = { 'content-type': contentType, authorization: `Bearer ${parley.apiKey}` };
    if (version === 'HTTP/1') {
      const { status, headers: head } = await fetch(new URL(`/${models}`, parley.baseUrl), {
        method,
        headers,
      });
      return { status, id: head.get('x-request-id') };
    }
    const stream = session.request({ ':method': method, ':path': `/${models}`, ...headers });
    stream.end();
    const [head] = await once(stream, 'response');
    stream.resume();
    return { status: head[':status'], id: head['x-request-id'] };
  }

  it.each([
    ['GET', 'application/grpc', 405],
    ['PUT', 'application/grpc+proto', 405],
    ['DELETE', 'application/grpc', 405],
    ['POST', 'application/grpc+foo', 415],
    ['POST', 'application/grpcs', 415],
  ])('%s with %s gets %i', async (method, contentType, expected) => {
    const { status, id } = await answerTo(method, contentType);
    expect(status).toBe(expected);
    const record = await parley.recordOf(new Response(null, { headers: { 'x-request-id': id ?? '' } }));
    expect(record).toMatchObject({ state: 'refused', httpStatus: expected, operation: 'catalog' });
  });

  it('is served with capitals in its content type', async () => {
    const { status, id } = await answerTo('POST', 'Application/GRPC');
    expect(status).toBe(200);
    const record = await parley.recordOf(new Response(null, { headers: { 'x-request-id': id ?? '' } }));
    expect(record).toMatchObject({ wire: 'grpc', state: 'refused', httpStatus: 400 });
  });
});

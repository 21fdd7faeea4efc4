/** The floor: a node:http server that answers the list of models as JSON and does nothing else. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ListModelsResponseSchema } from '../../gen/parley/catalog/v1/catalog_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import { listModelsResponse } from './messages.ts';
import { serveParent } from './parent.ts';

const json = jsonCodec(ListModelsResponseSchema).encode(listModelsResponse);
const server = createServer((_, response) => {
  const body = Buffer.from(JSON.stringify(json));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  serveParent({ origin: `http://127.0.0.1:${port}`, key: 'none' }, async () => {
    server.closeAllConnections();
  });
});

import { createGrpcWebTransport } from '@connectrpc/connect-node';
import { callTransport } from './transport-client.ts';
import type { Target, WireClient } from './wire.ts';

/** gRPC-Web over HTTP/1.1. */
export function openGrpcWeb({ origin, ca }: Target): WireClient {
  const transport = createGrpcWebTransport({
    baseUrl: origin,
    httpVersion: '1.1',
    ...(ca !== undefined && { nodeOptions: { ca } }),
  });
  return {
    name: 'gRPC-Web',
    wire: 'grpc-web',
    call: (call) => callTransport(transport, call),
    close: async () => undefined,
  };
}

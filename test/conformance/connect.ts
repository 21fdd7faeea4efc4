import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { callTransport } from './transport-client.ts';
import type { Target, WireClient } from './wire.ts';

/** Connect with JSON over HTTP/1.1, as a browser speaks it. */
export function openConnectJson({ origin, ca }: Target): WireClient {
  const transport = createConnectTransport({
    baseUrl: origin,
    httpVersion: '1.1',
    useBinaryFormat: false,
    ...(ca !== undefined && { nodeOptions: { ca } }),
  });
  return {
    name: 'Connect JSON',
    wire: 'connect',
    call: (call) => callTransport(transport, call),
    close: async () => undefined,
  };
}

/** Connect with protobuf over HTTP/2. */
export function openConnectBinary({ origin, ca }: Target): WireClient {
  const sessionManager = new Http2SessionManager(origin, {}, ca === undefined ? {} : { ca });
  const transport = createConnectTransport({ baseUrl: origin, httpVersion: '2', sessionManager });
  return {
    name: 'Connect binary',
    wire: 'connect',
    call: (call) => callTransport(transport, call),
    close: async () => sessionManager.abort(),
  };
}

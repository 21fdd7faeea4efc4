import { openConnectBinary, openConnectJson, openGrpcWeb } from './connect.ts';
import { openGrpc } from './grpc.ts';
import { openRest, openRestOverHttp2 } from './rest.ts';
import type { OpenWire } from './wire.ts';

/** Every wire, one client each. */
export const wires: readonly OpenWire[] = [
  openRest,
  openRestOverHttp2,
  openConnectJson,
  openConnectBinary,
  openGrpcWeb,
  openGrpc,
];

/** The running server, as its operator sees it. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { NodeStore } from '../entities/node.ts';
import type { ModelState, ServerFacts } from '../entities/server.ts';
import { ParleyError } from '../values/errors.ts';
import { formatCredits } from '../values/money.ts';

/** @param server undefined where none runs */
export function describeServer(server: ServerFacts | undefined): pb.GetServerStateResponse {
  const state = running(server).state();
  return create(pb.GetServerStateResponseSchema, {
    version: state.version,
    startedAt: timestampFromMs(state.startedAtMs),
    engines: state.engines.map(({ isUp, ...engine }) => ({ ...engine, up: isUp })),
    models: state.models.map(describeModel),
    settings: state.settings.map(({ name, value }) => ({ name, value })),
  });
}

export async function listNodes(store: NodeStore): Promise<pb.ListNodesResponse> {
  const nodes = (await store.listNodes()).map(({ leaseEndsAtMs, lateMs, isOwn, ...node }) => ({
    ...node,
    leaseEndsAt: timestampFromMs(leaseEndsAtMs),
    lateMs: BigInt(lateMs),
    answers: isOwn,
  }));
  return create(pb.ListNodesResponseSchema, { nodes });
}

function describeModel({ id, type, engines, reason, price }: ModelState) {
  return {
    ...{ id, type, engines: [...engines], available: reason === undefined },
    ...(reason !== undefined && { reason }),
    ...(price && {
      inputPrice: formatCredits(price.inputPerMillion),
      outputPrice: formatCredits(price.outputPerMillion),
    }),
  };
}

/** @param server undefined where none runs */
export async function diagnoseServer(server: ServerFacts | undefined): Promise<pb.DiagnoseServerResponse> {
  const found = await running(server).diagnose();
  const diagnostics = found.map(({ advice, ...diagnostic }) => ({
    ...diagnostic,
    ...(advice !== undefined && { advice }),
  }));
  return create(pb.DiagnoseServerResponseSchema, { diagnostics });
}

function running(server: ServerFacts | undefined): ServerFacts {
  if (server !== undefined) return server;
  throw new ParleyError('engine_unavailable', { message: 'No server runs here. Start it, then ask it.' });
}

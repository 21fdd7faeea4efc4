/** The running server and the audit trail, as its operator sees them. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { ModelState, ServerFacts } from '../entities/server.ts';
import { ParleyError } from '../values/errors.ts';
import { formatCredits } from '../values/money.ts';
import { nextPage, readPage } from '../values/parameters.ts';
import type { AccountsDeps } from './deps.ts';
import { describeAudit } from './views.ts';

export function serverFunctions({ store, server }: AccountsDeps) {
  return {
    async listAuditEntries(request: pb.ListAuditEntriesRequest) {
      const page = await store.audit.list(readPage(request));
      return { entries: page.items.map(describeAudit), ...nextPage(page) };
    },

    async getServerState() {
      const { version, startedAtMs, engines, models, settings } = running(server).state();
      return {
        version,
        startedAt: timestampFromMs(startedAtMs),
        engines: engines.map(({ isUp, ...engine }) => ({ ...engine, up: isUp })),
        models: models.map(describeModel),
        settings: settings.map(({ name, value }) => ({ name, value })),
      };
    },

    async listNodes() {
      const nodes = (await store.nodes.list()).map(({ leaseEndsAtMs, lateMs, isOwn, ...node }) => ({
        ...node,
        leaseEndsAt: timestampFromMs(leaseEndsAtMs),
        lateMs: BigInt(lateMs),
        answers: isOwn,
      }));
      return { nodes };
    },

    async diagnoseServer() {
      const found = await running(server).diagnose();
      const diagnostics = found.map(({ advice, ...diagnostic }) => ({
        ...diagnostic,
        ...(advice !== undefined && { advice }),
      }));
      return { diagnostics };
    },
  };
}

function describeModel({ id, type, engines, reason, price }: ModelState) {
  return {
    id,
    type,
    engines: [...engines],
    available: reason === undefined,
    ...(reason !== undefined && { reason }),
    ...(price && {
      inputPrice: formatCredits(price.inputPerMillion),
      outputPrice: formatCredits(price.outputPerMillion),
    }),
  };
}

function running(server: ServerFacts | undefined): ServerFacts {
  if (server !== undefined) return server;
  throw new ParleyError('engine_unavailable', { message: 'No server runs here. Start it, then ask it.' });
}

/** The running server and the audit trail, as operators see them. */
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { AuditFilter } from '../entities/audit.ts';
import { modelTypes } from '../entities/model.ts';
import { type CheckedEngine, checkedKinds, type ServerFacts } from '../entities/server.ts';
import { bounds, matches } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { invalid, nextPage, readOneOf, readPage } from '../values/parameters.ts';
import { checkText } from './checks.ts';
import type { AccountsDeps } from './deps.ts';
import { describeAudit } from './views.ts';

/** Entries of several servers may become visible out of order, with clocks that differ. By then all of them are visible. */
const settledMs = 60_000;

function readAuditFilter({ actor, search, startTime, endTime }: pb.ListAuditEntriesRequest): AuditFilter {
  return {
    actor: actor === undefined ? undefined : checkText('actor', actor, bounds.reason),
    search: search === undefined ? undefined : checkText('search', search),
    fromMs: startTime && timestampMs(startTime),
    beforeMs: endTime && timestampMs(endTime),
  };
}

export function serverFunctions({ store, server, accessClock }: AccountsDeps) {
  function listAfter({ after = '', ...request }: pb.ListAuditEntriesRequest) {
    if (!matches(after, bounds.auditCursor)) {
      throw invalid('after', '`after` must be the id of an audit entry, or empty for all entries.');
    }
    const { pageToken, actor, search, startTime, endTime } = request;
    const others = { page_token: pageToken, actor, search, start_time: startTime, end_time: endTime };
    const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
    if (other !== undefined) throw invalid(other, `\`${other}\` and \`after\` cannot be sent together.`);
    return store.audit.listAfter(after, accessClock.now() - settledMs, readPage(request).size);
  }

  return {
    async listAuditEntries(request: pb.ListAuditEntriesRequest) {
      if (request.after !== undefined) return { entries: (await listAfter(request)).map(describeAudit) };
      const page = await store.audit.list(readPage(request), readAuditFilter(request));
      return { entries: page.items.map(describeAudit), ...nextPage(page) };
    },

    getServerState: async () => running(server).state(),

    async loadEngine({ name }: pb.LoadEngineRequest) {
      await running(server).load(name);
      return engineState(running(server), name) ?? {};
    },

    async unloadEngine({ name }: pb.UnloadEngineRequest) {
      running(server).unload(name);
      return engineState(running(server), name) ?? {};
    },

    checkEngine: async (request: pb.CheckEngineRequest) => running(server).check(readChecked(request)),

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
      return { diagnostics: await running(server).diagnose() };
    },
  };
}

/** @throws `invalid_parameter` */
function readChecked({ kind, url, apiKey, models, chat }: pb.CheckEngineRequest): CheckedEngine {
  const known = readOneOf('kind', kind, checkedKinds) ?? checkedKinds[0];
  const { maxItems } = bounds.checkedModels;
  if (models.length > maxItems) throw invalid('models', `\`models\` takes at most ${maxItems} models.`);
  if (apiKey !== undefined && !matches(apiKey, bounds.upstreamKey)) {
    throw invalid('api_key', '`api_key` must have printable ASCII characters without blanks.');
  }
  return {
    kind: known,
    url,
    apiKey,
    asksChat: chat ?? false,
    models: models.map(({ name, type }) => ({
      name: checkText('models.name', name, bounds.modelName),
      type: readOneOf('models.type', type, modelTypes) ?? modelTypes[0],
    })),
  };
}

function engineState(server: ServerFacts, name: string) {
  const engine = server.state().engines?.find((one) => one.name === name);
  return engine && { engine };
}

/** @throws `engine_unavailable` for a command on the data folder */
export function running(server: ServerFacts | undefined): ServerFacts {
  if (server !== undefined) return server;
  throw new ParleyError('engine_unavailable', { message: 'No server runs here. Start it, then try again.' });
}

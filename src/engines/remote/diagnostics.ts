import { create } from '@bufbuild/protobuf';
import { ListModelsRequestSchema, type Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { type Diagnostic, ok, problem } from '../../core/diagnostics.ts';
import { toParleyError } from '../../core/errors.ts';
import { type DiagnosedModel, shortened, voicesDiagnostic, wordsOf } from '../diagnostics.ts';
import { Calls } from './calls.ts';
import { Connections } from './connections.ts';
import type { RemoteSettings } from './index.ts';

export interface RemoteDiagnosis {
  readonly apiKey: string | undefined;
  readonly models: readonly DiagnosedModel[];
  readonly signal: AbortSignal;
}

const silent = () => undefined;
const silentLog = { info: silent, warn: silent, error: silent };

/** Whether the remote Parley answers, takes the key, and offers it the models and voices of the catalog. */
export async function diagnoseRemote(
  settings: RemoteSettings,
  { apiKey, models, signal }: RemoteDiagnosis,
): Promise<Diagnostic[]> {
  const { address } = settings;
  let connections: Connections | undefined;
  try {
    connections = new Connections(settings, { name: 'doctor', log: silentLog });
    const calls = new Calls(connections, { apiKey, totalMs: settings.totalMs });
    const { data } = await calls.unary(
      CatalogService.method.listModels,
      create(ListModelsRequestSchema),
      signal,
    );
    const found = models.flatMap((model) => modelConditions(model, settings, data));
    return [ok('remote', `${address} answers, and accepts the key.`), ...found];
  } catch (error) {
    return [failure(error, settings)];
  } finally {
    connections?.close();
  }
}

function modelConditions(
  model: DiagnosedModel,
  { models }: RemoteSettings,
  offered: readonly Model[],
): Diagnostic[] {
  const name = models[model.id] ?? model.id;
  const subject = `model ${model.id}`;
  const there = offered.find(({ id, type }) => id === name && type === model.type);
  if (there !== undefined) {
    const diagnostic = ok(subject, `It offers ${name}.`);
    return model.type === 'speech' ? [diagnostic, voicesDiagnostic(model, there.voices)] : [diagnostic];
  }
  const others = offered.filter(({ type }) => type === model.type).map(({ id }) => id);
  const instead = others.length === 0 ? `nor any other for ${model.type}` : `but ${shortened(others)}`;
  const advice =
    'Write its name there in `models` of the engine; see to the plan and the scopes of the key there, and that its own engines work (`parley doctor` there).';
  return [problem(subject, `It does not offer ${name} to this key, ${instead}.`, advice)];
}

function failure(thrown: unknown, { address, tlsCa }: RemoteSettings): Diagnostic {
  const error = toParleyError(thrown);
  const words = wordsOf(error);
  if (isOfFiles(error.cause)) {
    return problem('remote', `${tlsCa} cannot be read (${words}).`, 'Correct `tlsCa` of the engine.');
  }
  if (error.hasNotRun) {
    const advice = 'Start it, or correct `address` and `tls` of the engine.';
    return problem('remote', `${address} cannot be reached (${words}).`, advice);
  }
  if (error.httpStatus === 401 || error.httpStatus === 403) {
    const advice =
      'Correct what `apiKeyEnv` or `apiKeyFile` of the engine leads to: an API key of that server.';
    return problem('remote', `${address} does not accept the key.`, advice);
  }
  return problem('remote', `${address} does not list its models (${words}).`, 'Look at its log.');
}

/** The only file that a connection needs is that of the authorities. */
function isOfFiles(cause: unknown): boolean {
  return cause instanceof Error && 'syscall' in cause && cause.syscall === 'open';
}

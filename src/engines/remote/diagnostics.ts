import { create } from '@bufbuild/protobuf';
import { ListModelsRequestSchema, type Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { toParleyError } from '../../core/values/errors.ts';
import {
  type DiagnosedModel,
  type Diagnosis,
  failureReason,
  shortened,
  silentLog,
  voicesDiagnostic,
} from '../diagnostics.ts';
import { Calls } from './connection/calls.ts';
import { Connections } from './connection/connections.ts';
import type { RemoteSettings } from './index.ts';

/** Checks that the remote Parley answers, accepts the key, and offers it the models and voices of the catalog. */
export async function diagnoseRemote(settings: RemoteSettings, diagnosis: Diagnosis): Promise<Diagnostic[]> {
  return (await examineRemote(settings, diagnosis)).diagnostics;
}

/** The same, with the ids of the models that it offers. */
export async function examineRemote(
  settings: RemoteSettings,
  { name, apiKey, models, signal }: Diagnosis,
): Promise<{ readonly diagnostics: Diagnostic[]; readonly listed: readonly string[] }> {
  let connections: Connections | undefined;
  try {
    connections = new Connections(settings, { name, log: silentLog });
    const calls = new Calls(connections, { apiKey, totalMs: settings.totalMs, repeatLostCalls: false });
    const { listModels } = CatalogService.method;
    const { data } = await calls.unary(listModels, create(ListModelsRequestSchema), signal);
    const diagnostics = [
      ok('remote', `${settings.address} answers, and accepts the key.`),
      ...models.flatMap((model) => diagnoseModel(model, settings, data)),
    ];
    return { diagnostics, listed: data.map(({ id }) => id) };
  } catch (error) {
    return { diagnostics: [diagnoseFailure(error, settings)], listed: [] };
  } finally {
    connections?.close();
  }
}

function diagnoseModel(
  model: DiagnosedModel,
  { models }: RemoteSettings,
  offered: readonly Model[],
): Diagnostic[] {
  const name = models[model.id] ?? model.id;
  const subject = `model ${model.id}`;
  const ofType = offered.filter(({ type }) => type === model.type);
  const found = ofType.find(({ id }) => id === name);
  if (found !== undefined) {
    const diagnostic = ok(subject, `It offers ${name}.`);
    return model.type === 'speech' ? [diagnostic, voicesDiagnostic(model, found.voices)] : [diagnostic];
  }
  const others =
    ofType.length === 0 ? `nor any other for ${model.type}` : `but ${shortened(ofType.map(({ id }) => id))}`;
  const advice =
    'Write its name there in `models` of the engine; check the plan and the scopes of the key there, and that its own engines work (`parley doctor` there).';
  return [problem(subject, `It does not offer ${name} to this key, ${others}.`, advice)];
}

function diagnoseFailure(thrown: unknown, { address, tlsCa }: RemoteSettings): Diagnostic {
  const error = toParleyError(thrown);
  const reason = failureReason(error);
  if (isFileError(error.cause)) {
    return problem('remote', `${tlsCa} cannot be read (${reason}).`, 'Correct `tlsCa` of the engine.');
  }
  if (error.hasNotRun) {
    const advice = 'Start it, or correct `address` and `tls` of the engine.';
    return problem('remote', `${address} cannot be reached (${reason}).`, advice);
  }
  if (error.httpStatus === 401 || error.httpStatus === 403) {
    const advice =
      'Correct the key that `apiKeyEnv` or `apiKeyFile` of the engine names: an API key of that server.';
    return problem('remote', `${address} does not accept the key.`, advice);
  }
  return problem('remote', `${address} does not list its models (${reason}).`, 'Look at its log.');
}

/** A connection reads no file but `tlsCa`. */
function isFileError(cause: unknown): boolean {
  return cause instanceof Error && 'syscall' in cause && cause.syscall === 'open';
}

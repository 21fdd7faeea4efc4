/** The lists of voices and speech models for programs that send no key there, if the operator allows it. */
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import type { Rpc, RpcTable } from '../../core/rpcs.ts';
import type { Services } from '../../core/services.ts';
import type { RestHandler } from './exchange.ts';
import { keylessHandler } from './unary.ts';

const { listVoices, listSpeechModels } = CatalogService.method;

/** The handlers of requests without an `Authorization` header. */
export function openVoices(
  table: RpcTable,
  { catalog }: Pick<Services, 'catalog'>,
): ReadonlyMap<Rpc, RestHandler> {
  return new Map<Rpc, RestHandler>([
    [table.listVoices, keylessHandler(listVoices, (request) => catalog.listVoices(request, undefined))],
    [
      table.listSpeechModels,
      keylessHandler(listSpeechModels, (request) => catalog.listSpeechModels(request, undefined)),
    ],
  ]);
}

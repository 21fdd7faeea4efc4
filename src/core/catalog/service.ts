import { create } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type GetModelResponse,
  GetModelResponseSchema,
  type ListModelsRequest,
  type ListModelsResponse,
} from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Call } from '../call.ts';
import { ParleyError } from '../errors.ts';
import { checkOneOf } from '../parameters.ts';
import { quote } from '../quote.ts';
import { type Catalog, modelTypes } from './catalog.ts';
import { ModelLists } from './model-lists.ts';
import { describeModel } from './views.ts';

/** Implements CatalogService. */
export class CatalogOperations {
  readonly #catalog: Catalog;
  readonly #lists = new ModelLists();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** @throws `invalid_parameter` for an unknown type */
  async listModels({ type: wantedType }: ListModelsRequest, call: Call): Promise<ListModelsResponse> {
    checkOneOf('type', wantedType, modelTypes);
    const models = this.#catalog.callableBy(call.caller);
    const wanted = wantedType === undefined ? models : models.filter(({ type }) => type === wantedType);
    return this.#lists.of(wanted);
  }

  /** @throws `not_found` if the caller's key can call no such model */
  async getModel(request: GetModelRequest, call: Call): Promise<GetModelResponse> {
    const model = this.#catalog.callableBy(call.caller).find(({ id }) => id === request.id);
    if (model === undefined) {
      throw new ParleyError('not_found', {
        message: `There is no such model for your key: ${quote(request.id)}.`,
        param: 'id',
        advice: { kind: 'list_models' },
      });
    }
    return create(GetModelResponseSchema, { model: describeModel(model) });
  }
}

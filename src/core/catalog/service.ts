import { create } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type GetModelResponse,
  GetModelResponseSchema,
  type ListModelsRequest,
  type ListModelsResponse,
  type ListSpeechModelsRequest,
  type ListSpeechModelsResponse,
  ListSpeechModelsResponseSchema,
  type ListVoicesRequest,
  type ListVoicesResponse,
} from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Call } from '../access/call.ts';
import { modelTypes, type SpeechModel } from '../entities/model.ts';
import { ParleyError } from '../values/errors.ts';
import { readOneOf } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';
import type { Catalog } from './catalog.ts';
import { ModelLists } from './model-lists.ts';
import { describeModel, listVoices } from './views.ts';

/** Implements CatalogService. */
export class CatalogOperations {
  readonly #catalog: Catalog;
  readonly #lists = new ModelLists();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** @throws `invalid_parameter` for an unknown type */
  async listModels({ type: wantedType }: ListModelsRequest, call: Call): Promise<ListModelsResponse> {
    readOneOf('type', wantedType, modelTypes);
    const models = this.#catalog.callableBy(call.caller);
    const wanted = wantedType === undefined ? models : models.filter(({ type }) => type === wantedType);
    return this.#lists.of(wanted);
  }

  /** @throws `not_found` if the caller's key cannot call such a model */
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

  /** @param call undefined for a caller without a key, who sees all available speech models */
  async listSpeechModels(
    _: ListSpeechModelsRequest,
    call: Call | undefined,
  ): Promise<ListSpeechModelsResponse> {
    const { data: models } = this.#lists.of(this.#speechModels(call));
    return create(ListSpeechModelsResponseSchema, { models });
  }

  /**
   * @param call undefined for a caller without a key, who sees all available speech models
   * @throws `unknown_model` if the caller cannot call such a speech model
   */
  async listVoices({ model: id }: ListVoicesRequest, call: Call | undefined): Promise<ListVoicesResponse> {
    const models = this.#speechModels(call);
    const wanted = id === undefined ? models : models.filter((model) => model.id === id);
    if (id !== undefined && wanted.length === 0) {
      throw new ParleyError('unknown_model', {
        message: `There is no such speech model for your key: ${quote(id)}.`,
        advice: { kind: 'choose_model', type: 'speech' },
        param: 'model',
      });
    }
    return listVoices(wanted);
  }

  #speechModels(call: Call | undefined): SpeechModel[] {
    if (call === undefined) return this.#catalog.availableSpeechModels();
    return this.#catalog.callableBy(call.caller).filter((model) => model.type === 'speech');
  }
}

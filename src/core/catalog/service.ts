import { create } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type GetModelResponse,
  GetModelResponseSchema,
  type ListModelsRequest,
  type ListModelsResponse,
  ListModelsResponseSchema,
  type ListSpeechModelsRequest,
  type ListSpeechModelsResponse,
  ListSpeechModelsResponseSchema,
  type ListVoicesRequest,
  type ListVoicesResponse,
  type Model,
} from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Call } from '../access/call.ts';
import type { VoiceList } from '../entities/engine.ts';
import { type CatalogModel, modelTypes, type SpeechModel } from '../entities/model.ts';
import { ParleyError } from '../values/errors.ts';
import { readOneOf } from '../values/parameters.ts';
import { quote } from '../values/quote.ts';
import type { Catalog } from './catalog.ts';
import { describeModel, listVoices } from './views.ts';

export class CatalogOperations {
  readonly #catalog: Catalog;
  readonly #lists = new ModelLists();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** @throws `invalid_parameter` for an unknown type */
  async listModels({ type: wantedType }: ListModelsRequest, call: Call): Promise<ListModelsResponse> {
    readOneOf('type', wantedType, modelTypes);
    return this.#lists.of(this.#catalog.callableBy(call.caller), wantedType);
  }

  /** @throws `not_found` if the caller's key cannot call such a model */
  async getModel(request: GetModelRequest, call: Call): Promise<GetModelResponse> {
    const { data } = this.#lists.of(this.#catalog.callableBy(call.caller));
    const model = data.find(({ id }) => id === request.id);
    if (model === undefined) {
      throw new ParleyError('not_found', {
        message: `There is no such model for your key: ${quote(request.id)}.`,
        param: 'id',
        advice: { kind: 'list_models' },
      });
    }
    return create(GetModelResponseSchema, { model });
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

/** Lists differ by the key's scopes, its plan, the filter and the currently callable models. */
const listsMax = 64;

interface Description {
  /** The engine's voices when the description was created. */
  readonly offered: VoiceList | undefined;
  /** The models that it falls back to, for this caller. */
  readonly fallback: readonly string[];
  readonly model: Model;
}

/** Descriptions of a model for callers that may call different ones of its fallbacks. */
const descriptionsMax = 8;

/**
 * Caches the answers of ListModels. Until something changes, returns the same object, so that a transport can cache its
 * bytes. Nobody may modify it.
 */
export class ModelLists {
  readonly #descriptions = new WeakMap<CatalogModel, readonly Description[]>();
  #lists: ListModelsResponse[] = [];

  /** @param type of the models to list. Default: all */
  of(callable: readonly CatalogModel[], type?: string): ListModelsResponse {
    const ids = new Set(callable.map(({ id }) => id));
    const wanted = type === undefined ? callable : callable.filter((model) => model.type === type);
    const data = wanted.map((model) => this.#describe(model, ids));
    const known = this.#lists.find((list) => isSame(list.data, data));
    if (known) return known;
    const list = create(ListModelsResponseSchema, { object: 'list', data });
    this.#lists = [list, ...this.#lists].slice(0, listsMax);
    return list;
  }

  #describe(model: CatalogModel, callable: ReadonlySet<string>): Model {
    const offered = model.type === 'speech' ? model.engine.voices() : undefined;
    const others = (model.type === 'chat' && model.fallback?.models) || [];
    const fallback = others.filter((id) => callable.has(id));
    const known = (this.#descriptions.get(model) ?? []).filter((one) => one.offered === offered);
    const same = known.find((one) => isSame(one.fallback, fallback));
    if (same !== undefined) return same.model;
    const description = { offered, fallback, model: describeModel(model, fallback) };
    this.#descriptions.set(model, [description, ...known].slice(0, descriptionsMax));
    return description.model;
  }
}

function isSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

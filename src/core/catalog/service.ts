import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Call } from '../access/call.ts';
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
  async listModels({ type: wantedType }: pb.ListModelsRequest, call: Call): Promise<pb.ListModelsResponse> {
    readOneOf('type', wantedType, modelTypes);
    return this.#lists.of(this.#catalog.callableBy(call.caller), wantedType);
  }

  /** @throws `not_found` if the caller's key cannot call such a model */
  async getModel(request: pb.GetModelRequest, call: Call): Promise<pb.GetModelResponse> {
    const { data } = this.#lists.of(this.#catalog.callableBy(call.caller));
    const model = data.find(({ id }) => id === request.id);
    if (model === undefined) {
      throw new ParleyError('not_found', {
        message: `There is no such model for your key: ${quote(request.id)}.`,
        param: 'id',
        advice: { kind: 'list_models' },
      });
    }
    return create(pb.GetModelResponseSchema, { model });
  }

  /** @param call undefined for a caller without a key, who sees all available speech models */
  async listSpeechModels(
    _: pb.ListSpeechModelsRequest,
    call: Call | undefined,
  ): Promise<pb.ListSpeechModelsResponse> {
    const { data: models } = this.#lists.of(this.#speechModels(call));
    return create(pb.ListSpeechModelsResponseSchema, { models });
  }

  /**
   * @param call undefined for a caller without a key, who sees all available speech models
   * @throws `unknown_model` if the caller cannot call such a speech model
   */
  async listVoices(
    { model: id }: pb.ListVoicesRequest,
    call: Call | undefined,
  ): Promise<pb.ListVoicesResponse> {
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

interface KnownList {
  readonly callable: readonly CatalogModel[];
  /** Voices and contexts that the engines reported when the list was made. */
  readonly reported: readonly unknown[];
  readonly type: string | undefined;
  readonly list: pb.ListModelsResponse;
}

/**
 * Caches the answers of ListModels. Until something changes, returns the same object, so that a transport can cache its
 * bytes. Nobody may modify it.
 */
export class ModelLists {
  #lists: readonly KnownList[] = [];

  /** @param type of the models to list. Default: all */
  of(callable: readonly CatalogModel[], type?: string): pb.ListModelsResponse {
    const reported = callable.flatMap(reportedBy);
    const isKnown = (one: KnownList) =>
      one.type === type && isSame(one.callable, callable) && isSame(one.reported, reported);
    const known = this.#lists.find(isKnown);
    if (known) return known.list;
    const ids = new Set(callable.map(({ id }) => id));
    const wanted = type === undefined ? callable : callable.filter((model) => model.type === type);
    const data = wanted.map((model) => describeModel(model, (id) => ids.has(id)));
    const list = create(pb.ListModelsResponseSchema, { object: 'list', data });
    this.#lists = [{ callable, reported, type, list }, ...this.#lists].slice(0, listsMax);
    return list;
  }
}

/** Facts of a description that change without the configuration. */
function reportedBy(model: CatalogModel): readonly unknown[] {
  if (model.type === 'speech') return [model.engine.voices()];
  return model.type === 'chat' ? [model.contextTokens, model.outputTokensMax] : [];
}

function isSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

import { create } from '@bufbuild/protobuf';
import {
  type ListModelsResponse,
  ListModelsResponseSchema,
  type Model,
} from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { VoiceList } from '../entities/engine.ts';
import type { CatalogModel } from '../entities/model.ts';
import { describeModel } from './views.ts';

/** Lists differ by the key's scopes, its plan, the filter and the currently callable models. */
const listsMax = 64;

interface Description {
  /** The engine's voices when the description was created. */
  readonly offered: VoiceList | undefined;
  readonly model: Model;
}

/**
 * Caches the answers of ListModels. Until something changes, returns the same object, so that a transport can cache its
 * bytes. Nobody may modify it.
 */
export class ModelLists {
  readonly #descriptions = new WeakMap<CatalogModel, Description>();
  #lists: ListModelsResponse[] = [];

  of(models: readonly CatalogModel[]): ListModelsResponse {
    const data = models.map((model) => this.#describe(model));
    const known = this.#lists.find((list) => isSame(list.data, data));
    if (known) return known;
    const list = create(ListModelsResponseSchema, { object: 'list', data });
    this.#lists = [list, ...this.#lists].slice(0, listsMax);
    return list;
  }

  #describe(model: CatalogModel): Model {
    const offered = model.type === 'speech' ? model.engine.voices() : undefined;
    const known = this.#descriptions.get(model);
    if (known && known.offered === offered) return known.model;
    const description = { offered, model: describeModel(model) };
    this.#descriptions.set(model, description);
    return description.model;
  }
}

function isSame(one: readonly Model[], other: readonly Model[]): boolean {
  return one.length === other.length && one.every((model, index) => model === other[index]);
}

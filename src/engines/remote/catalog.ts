/** The models that the remote offers to this server's key, read regularly in the background. */
import { create } from '@bufbuild/protobuf';
import { ListModelsRequestSchema, type Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import type { Availability, VoiceList } from '../../core/entities/engine.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import { briefError } from '../../core/values/failure-log.ts';
import type { Log } from '../../core/values/log.ts';
import type { Calls } from './connection/calls.ts';

export interface CatalogOptions {
  readonly engine: string;
  readonly everyMs: number;
  readonly log: Log;
}

export type ModelType = 'speech' | 'transcription' | 'chat';

/** A model of the remote. */
export interface RemoteModel {
  /** The remote's id of the model. */
  readonly name: string;
  readonly calls: Calls;
  readonly catalog: RemoteCatalog;
}

/** The wait before the second reading until the first list is there; it doubles each time, up to `everyMs`. */
const firstWaitMs = 250;
const readMsMax = 10_000;

export class RemoteCatalog {
  readonly #calls: Calls;
  readonly #options: CatalogOptions;
  readonly #closing = new AbortController();
  /** The models of this server's configuration, by the remote's ids. */
  readonly #expected = new Map<string, ModelType>();
  #models: ReadonlyMap<string, Model> | undefined;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  /** The last message, so that it is not logged twice in a row. */
  #logged = '';

  constructor(calls: Calls, options: CatalogOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  /** Names a model that the remote should offer. Call it before `start`. */
  expect(name: string, type: ModelType): void {
    this.#expected.set(name, type);
  }

  /** Reads the list now and then regularly. After a failed reading the last list stays. */
  start(): void {
    void this.#readAndSchedule(firstWaitMs);
  }

  close(): void {
    this.#closing.abort(new ParleyError('request_cancelled'));
    clearTimeout(this.#timer);
  }

  /** Before the first list only speech is unavailable, as its voices are unknown. */
  availability(name: string, type: ModelType): Availability {
    const { engine } = this.#options;
    if (this.#models === undefined) {
      if (type !== 'speech') return { available: true };
      return {
        available: false,
        reason: `The remote engine ${engine} has not listed its voices yet. Parley keeps asking: check that it can be reached.`,
        isPending: !this.#hasFailed,
      };
    }
    if (this.#models.get(name)?.type === type) return { available: true };
    return {
      available: false,
      reason: `The remote engine ${engine} does not offer the ${type} model ${name} to this server. Check \`models\` of the engine, and on the remote the plan and the scopes of its key.`,
    };
  }

  /** @throws `engine_unavailable` if the remote has not listed the model */
  voices(name: string): VoiceList {
    const model = this.#models?.get(name);
    if (model?.type !== 'speech') {
      const availability = this.availability(name, 'speech');
      throw new ParleyError(
        'engine_unavailable',
        availability.available ? {} : { message: availability.reason },
      );
    }
    const languages = new Map(model.voiceDetails.map(({ id, language }) => [id, language]));
    return {
      voices: model.voices.map((id) => ({ id, language: languages.get(id) ?? 'und' })),
      defaultVoice: model.defaultVoice ?? model.voices[0] ?? '',
    };
  }

  async #readAndSchedule(waitMs: number): Promise<void> {
    await this.#read();
    if (this.#closing.signal.aborted) return;
    const { everyMs } = this.#options;
    const nextMs = this.#models ? everyMs : Math.min(waitMs, everyMs);
    this.#timer = setTimeout(() => void this.#readAndSchedule(waitMs * 2), nextMs).unref();
  }

  async #read(): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(readMsMax)]);
    const { listModels } = CatalogService.method;
    try {
      const { data } = await this.#calls.unary(listModels, create(ListModelsRequestSchema), signal);
      this.#models = new Map(data.map((model) => [model.id, model]));
      this.#logMissing();
    } catch (thrown) {
      this.#hasFailed = true;
      if (!this.#closing.signal.aborted) this.#logFailure(thrown);
    }
  }

  #logMissing(): void {
    const missing = [...this.#expected].flatMap(([name, type]) => {
      const availability = this.availability(name, type);
      return availability.available ? [] : [availability.reason];
    });
    this.#logOnce('warn', missing.join(' '), {});
  }

  /** `Connections` already logs that the remote cannot be reached. */
  #logFailure(thrown: unknown): void {
    const error = toParleyError(thrown);
    if (!error.hasNotRun)
      this.#logOnce('error', 'the models of a remote engine could not be read', {
        err: briefError(error.cause ?? error),
      });
  }

  #logOnce(level: 'warn' | 'error', message: string, facts: object): void {
    if (message === this.#logged) return;
    this.#logged = message;
    const { log, engine } = this.#options;
    if (message !== '') log[level]({ engine, ...facts }, message);
  }
}

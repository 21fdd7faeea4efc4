/** What the remote offers to our key, read again and again in the background. */
import { create } from '@bufbuild/protobuf';
import { ListModelsRequestSchema, type Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ParleyError, toParleyError } from '../../core/errors.ts';
import { briefError } from '../../core/failure-log.ts';
import type { Availability, VoiceList } from '../../core/ports/engines.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Calls } from './calls.ts';

export interface CatalogOptions {
  readonly engine: string;
  readonly everyMs: number;
  readonly log: Log;
}

export type ModelType = 'speech' | 'transcription' | 'chat';

/** Until the first list has come it is asked for at once again, then less and less often. */
const firstAgainMs = 250;
const answerMsMax = 10_000;

export class RemoteCatalog {
  readonly #calls: Calls;
  readonly #options: CatalogOptions;
  readonly #closing = new AbortController();
  /** The models that are asked for here, by the names that the remote knows them by. */
  readonly #wanted = new Map<string, ModelType>();
  #models: ReadonlyMap<string, Model> | undefined;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  /** What the log was told last, so that it is told once. */
  #told = '';

  constructor(calls: Calls, options: CatalogOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  /** To be told of every model before the first list has come. */
  want(name: string, type: ModelType): void {
    this.#wanted.set(name, type);
  }

  /** Reads the list now and then at its times. A list that cannot be had leaves the last one in force. */
  start(): void {
    void this.#readAndAgain(firstAgainMs);
  }

  close(): void {
    this.#closing.abort(new ParleyError('request_cancelled'));
    clearTimeout(this.#timer);
  }

  /** Until the first list is there only speech is not available, whose voices nobody knows yet. */
  availability(name: string, type: ModelType): Availability {
    const { engine } = this.#options;
    if (this.#models === undefined) {
      if (type !== 'speech') return { available: true };
      return {
        available: false,
        reason: `The remote engine ${engine} has not told its voices yet. It is asked again and again: see that it can be reached.`,
        isPending: !this.#hasFailed,
      };
    }
    if (this.#models.get(name)?.type === type) return { available: true };
    return {
      available: false,
      reason: `The remote engine ${engine} does not offer the ${type} model ${name} to this server. Check \`models\` of the engine, and there the plan and the scopes of its key.`,
    };
  }

  /** @throws `engine_unavailable` where the remote has not told the voices of such a model */
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

  async #readAndAgain(againMs: number): Promise<void> {
    const isRead = await this.#read();
    if (this.#closing.signal.aborted) return;
    const { everyMs } = this.#options;
    const nextMs = isRead || this.#models !== undefined ? everyMs : Math.min(againMs, everyMs);
    this.#timer = setTimeout(() => void this.#readAndAgain(againMs * 2), nextMs).unref();
  }

  async #read(): Promise<boolean> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(answerMsMax)]);
    const { listModels } = CatalogService.method;
    try {
      const { data } = await this.#calls.unary(listModels, create(ListModelsRequestSchema), signal);
      this.#models = new Map(data.map((model) => [model.id, model]));
      this.#tellMissing();
      return true;
    } catch (thrown) {
      this.#hasFailed = true;
      if (!this.#closing.signal.aborted) this.#tellFailure(thrown);
      return false;
    }
  }

  #tellMissing(): void {
    const missing = [...this.#wanted].flatMap(([name, type]) => {
      const availability = this.availability(name, type);
      return availability.available ? [] : [availability.reason];
    });
    this.#tell('warn', missing.join(' '), {});
  }

  /** That it cannot be reached is told elsewhere. */
  #tellFailure(thrown: unknown): void {
    const error = toParleyError(thrown);
    if (!error.hasNotRun)
      this.#tell('error', 'the models of a remote engine could not be read', {
        err: briefError(error.cause ?? error),
      });
  }

  #tell(level: 'warn' | 'error', message: string, facts: object): void {
    if (message === this.#told) return;
    this.#told = message;
    const { log, engine } = this.#options;
    if (message !== '') log[level]({ engine, ...facts }, message);
  }
}

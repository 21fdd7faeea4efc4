/** A conversation in a session: its history, and its responses to what is said. It carries out the effects of `response-state.ts`. */
import { checkOwnTools } from '../responses/tools.ts';
import { ParleyError } from '../values/errors.ts';
import type { History, Item } from './items.ts';
import { LiveResponse, type ResponseDeps } from './live-response.ts';
import type { ReportQueue, ResponseRequest, ResponseSettings, SessionReport } from './reports.ts';
import {
  nextResponse,
  noResponse,
  type ResponseEffect,
  type ResponseEvent,
  type ResponseRefusal,
  type ResponseState,
} from './response-state.ts';
import type { TurnNumber } from './session.ts';

export interface ConversationSettings {
  readonly response: ResponseSettings;
  /** Whether each turn that silence ends gets a response. */
  readonly answers: boolean;
  /** Whether speech interrupts the response. */
  readonly interrupts: boolean;
}

export function itemOf(turn: TurnNumber): string {
  return `item_${turn}`;
}

/** The item of a turn. @param transcript null until it is known */
export function userItem(turn: TurnNumber, transcript: string | null): Item {
  const content = [{ type: 'input_audio' as const, transcript }];
  const head = { id: itemOf(turn), object: 'realtime.item', type: 'message' } as const;
  return { ...head, status: 'completed', role: 'user', content };
}

export class Conversation {
  readonly #deps: ResponseDeps;
  #settings: ConversationSettings | undefined;
  #state: ResponseState = noResponse;
  #response: LiveResponse | undefined;
  /** The request of the client's last `response.create`. */
  #request: ResponseRequest | undefined;
  /** Committed turns without a text, and whether silence ended them. */
  readonly #pending = new Map<TurnNumber, boolean>();
  #stopped: TurnNumber | undefined;
  readonly #closed = Promise.withResolvers<void>();
  #reason = new ParleyError('request_cancelled');

  constructor(deps: ResponseDeps) {
    this.#deps = deps;
  }

  get history(): History {
    return this.#deps.history;
  }

  /** Applies to the responses that follow. @throws `invalid_parameter` for tools that no chat takes */
  configure(settings: ConversationSettings): void {
    checkOwnTools(settings.response.tools);
    this.#settings = settings;
  }

  /** Asks for a response. @returns why there is none */
  create(request: ResponseRequest): ResponseRefusal | undefined {
    checkOwnTools(request.tools);
    // The request of a response that waits for the cancelled one is kept.
    if (this.#state.isAsked) return 'active';
    this.#request = request;
    const refusal = this.#put({ kind: 'create' });
    if (refusal) this.#request = undefined;
    return refusal;
  }

  cancel(): ResponseRefusal | undefined {
    return this.#put({ kind: 'cancel' });
  }

  /** Where the session reports, which the conversation follows. */
  sessionReports(): ReportQueue {
    const { reports } = this.#deps;
    return {
      add: (report) => this.#follow(report),
      end: (reason) => void this.#close(reason).then(() => reports.end(reason)),
      whenRoom: () => reports.whenRoom(),
    };
  }

  #follow(report: SessionReport): void {
    const { reports, history } = this.#deps;
    if (report.kind === 'committed') {
      const item = userItem(report.turn, null);
      // A client may have made an item of that id.
      const previous = history.has(item.id) ? null : history.add(item);
      reports.add({ ...report, previous });
    } else reports.add(report);
    switch (report.kind) {
      case 'started':
        this.#put({ kind: 'speech', interrupts: this.#settings?.interrupts === true });
        break;
      case 'stopped':
        this.#stopped = report.turn;
        break;
      case 'committed':
        this.#pending.set(report.turn, this.#stopped === report.turn);
        this.#put({ kind: 'committed' });
        break;
      case 'cleared':
        this.#put({ kind: 'dropped' });
        break;
      case 'completed':
      case 'failed':
        this.#endTurn(report.turn, report.kind === 'completed' ? report.transcript.text : '');
    }
  }

  /** Resolves once the last response is done. */
  async #close(reason: ParleyError | undefined): Promise<void> {
    // A refusal leaves the reason of a cancelled client, which pays for the output that it has got.
    if (reason && !reason.isRefusal) this.#reason = reason;
    this.#put({ kind: 'close' });
    await this.#closed.promise;
  }

  #endTurn(turn: TurnNumber, text: string): void {
    const isBySilence = this.#pending.get(turn);
    if (isBySilence === undefined) {
      this.#put({ kind: 'dropped' });
      return;
    }
    this.#pending.delete(turn);
    this.#deps.history.replace(userItem(turn, text));
    this.#put({ kind: 'text', isDue: isBySilence && this.#settings?.answers === true && text !== '' });
  }

  /** @returns why it has no effect */
  #put(event: ResponseEvent): ResponseRefusal | undefined {
    const [state, effects] = nextResponse(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
    return effects.find((effect) => effect.do === 'refuse')?.why;
  }

  #carryOut(effect: ResponseEffect): void {
    switch (effect.do) {
      case 'begin':
        this.#begin();
        break;
      case 'run':
        void this.#run();
        break;
      case 'stop':
        this.#response?.stop(this.#reason, this.#state.isClosing ? undefined : effect.reason);
        break;
      case 'end':
        this.#response?.end(effect.reason);
        break;
      case 'closed':
        this.#closed.resolve();
    }
  }

  async #run(): Promise<void> {
    await this.#response?.run();
    this.#put({ kind: 'done' });
  }

  #begin(): void {
    const settings = this.#settings?.response;
    const request =
      this.#request ?? (settings && { ...settings, isKept: true, input: undefined, metadata: null });
    this.#request = undefined;
    this.#response = request && new LiveResponse(request, this.#deps);
  }
}

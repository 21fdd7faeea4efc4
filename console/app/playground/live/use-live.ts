/** Runs a live session: the microphone, the connection, the playback, and what the page shows of them. */
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { type PlayClients, PlayContext } from '../clients.ts';
import { changed, isRunning, type LiveTurn, withEvent } from './live-turns.ts';
import { microphoneProblem, type OpenMicrophone, openMicrophone } from './open-microphone.ts';
import { Playback } from './playback.ts';
import { openRealtime, type RealtimeSocket, type ServerEvent } from './realtime.ts';

/** `ending`: the microphone is closed, and the last words have no text yet. */
export type LiveState = 'off' | 'opening' | 'listening' | 'ending';

export interface LiveSettings {
  /** Of a conversation the first that the server offers. */
  readonly kind: 'transcription' | 'conversation';
  /** The session in OpenAI's protocol. */
  readonly session: object;
}

interface Shown {
  readonly state: LiveState;
  readonly turns: readonly LiveTurn[];
  /** The loudest sample of the last tenth of a second, from 0 to 1. */
  readonly peak: number;
  /** Whether the model can be heard. */
  readonly isSpeaking: boolean;
  readonly problem: string | undefined;
  /** Used and allowed units of the month, after the last turn. */
  readonly fairUse: { readonly used: bigint; readonly limit: bigint } | undefined;
}

const nothing: Shown = {
  state: 'off',
  turns: [],
  peak: 0,
  isSpeaking: false,
  problem: undefined,
  fairUse: undefined,
};
const noConversation =
  'This server offers no conversations. Its operator sets them up under `realtime` in parley.yaml.';
const cut = { state: 'failed', problem: 'Ended before its text.' } as const;

class Live {
  #shown = nothing;
  #settings: LiveSettings = { kind: 'transcription', session: {} };
  #socket: RealtimeSocket | undefined;
  #microphone: OpenMicrophone | undefined;
  #playback: Playback | undefined;
  /** Counts the starts, as a microphone may open after the person has stopped. */
  #starts = 0;
  readonly #show: (shown: Shown) => void;
  readonly #clients: PlayClients;

  constructor(clients: PlayClients, show: (shown: Shown) => void) {
    this.#clients = clients;
    this.#show = show;
  }

  async start(settings: LiveSettings): Promise<void> {
    const start = ++this.#starts;
    const isConversation = settings.kind === 'conversation';
    this.#settings = settings;
    this.#set({ ...nothing, state: 'opening' });
    if (isConversation) this.#playback = new Playback();
    const onEnd = () => this.end('The microphone was disconnected. Connect it, then start again.');
    const onPart = (part: Parameters<RealtimeSocket['sendAudio']>[0]) => {
      this.#set({ peak: part.peak, isSpeaking: this.#playback?.isPlaying ?? false });
      // Not before the session has its settings.
      if (this.#shown.state === 'listening') this.#socket?.sendAudio(part);
    };
    try {
      const microphone = await openMicrophone({ echoCancellation: isConversation }, onPart, onEnd);
      if (start !== this.#starts) return microphone.close();
      this.#microphone = microphone;
    } catch (error) {
      if (start === this.#starts) this.end(microphoneProblem(error));
      return;
    }
    this.#socket = openRealtime(isConversation ? '' : 'intent=transcription', this.#clients.key, {
      onEvent: (event) => this.#take(event),
      onLost: (problem) => {
        this.end(problem);
        // Finds out whether the session has ended or the server is gone, which `api.ts` notes.
        this.#clients.account.getAccount({}).catch(() => undefined);
      },
    });
  }

  /** Waits for the text of what was said so far. A conversation ends at once. */
  finish(): void {
    const isOver = this.#settings.kind === 'conversation' || !this.#shown.turns.some(isRunning);
    if (isOver) {
      this.end();
      return;
    }
    this.#closeMicrophone();
    this.#set({ state: 'ending' });
    if (this.#shown.turns.some(({ state }) => state === 'open')) {
      this.#socket?.send({ type: 'input_audio_buffer.commit' });
    }
  }

  /** Silences the model. The server keeps in mind what was heard of its words. */
  interrupt(): void {
    const stopped = this.#playback?.stop();
    if (stopped === undefined) return;
    const { item, heardMs } = stopped;
    this.#socket?.send({
      type: 'conversation.item.truncate',
      item_id: item,
      content_index: 0,
      audio_end_ms: heardMs,
    });
    this.#set({ turns: changed(this.#shown.turns, item, { isInterrupted: true }), isSpeaking: false });
  }

  /** Silences the model at the wish of the person, who does not speak. */
  cancel(): void {
    if (this.#shown.turns.some(({ side, state }) => side === 'model' && state === 'open')) {
      this.#socket?.send({ type: 'response.cancel' });
    }
    this.interrupt();
  }

  /** Ends at once. */
  end(problem?: string): void {
    this.#starts++;
    this.#closeMicrophone();
    this.#socket?.close();
    this.#socket = undefined;
    this.#playback?.close();
    this.#playback = undefined;
    // A turn that has not ended gets no text any more.
    const turns = this.#shown.turns.map((turn) => (isRunning(turn) ? { ...turn, ...cut } : turn));
    this.#set({ state: 'off', turns, isSpeaking: false, problem });
  }

  #take(event: ServerEvent): void {
    const { type, item_id: item, delta, response } = event;
    if (type === 'session.created') {
      if (this.#settings.kind === 'conversation' && event.session?.audio.output === undefined) {
        this.end(noConversation);
        return;
      }
      this.#socket?.send({ type: 'session.update', session: this.#settings.session });
      this.#set({ state: 'listening' });
    }
    // The server has stopped the response itself.
    if (type === 'input_audio_buffer.speech_started') this.interrupt();
    if (type === 'response.output_audio.delta' && item && delta) this.#playback?.add(item, delta);
    this.#set({ turns: withEvent(this.#shown.turns, event) });
    const request = event.request_id ?? (type === 'response.done' ? response?.request_id : undefined);
    if (request !== undefined) void this.#addCosts(request);
    if (this.#shown.state === 'ending' && !this.#shown.turns.some(isRunning)) this.end();
  }

  /** Fair use and cost are only in the record of the turn, and in the account. */
  async #addCosts(id: string): Promise<void> {
    const { account } = this.#clients;
    try {
      const [{ records }, { account: own }] = await Promise.all([
        account.listUsageRecords({ id }),
        account.getAccount({}),
      ]);
      const { fairUseUnits: units, costNanoCredits: cost } = records[0] ?? {};
      const { usedUnits: used, limitUnits: limit } = own?.fairUse ?? {};
      // The person may have started again.
      const turn = this.#shown.turns.find(({ request }) => request === id);
      if (turn === undefined) return;
      const costs = { ...(units !== undefined && { units }), ...(cost !== undefined && { cost }) };
      this.#set({ turns: changed(this.#shown.turns, turn.item, costs) });
      if (used !== undefined && limit !== undefined) this.#set({ fairUse: { used, limit } });
    } catch {
      // The text is there without them.
    }
  }

  #closeMicrophone(): void {
    this.#microphone?.close();
    this.#microphone = undefined;
    this.#set({ peak: 0 });
  }

  #set(change: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#show(this.#shown);
  }
}

export function useLive() {
  const [shown, setShown] = useState(nothing);
  const live = useRef<Live>(undefined);
  const clients = useContext(PlayContext);
  live.current ??= new Live(clients, setShown);
  const { current } = live;
  // Leaving the page ends it.
  useEffect(() => () => current.end(), []);
  return {
    ...shown,
    start: (settings: LiveSettings) => void current.start(settings),
    stop: () => (shown.state === 'listening' ? current.finish() : current.end()),
    cancel: () => current.cancel(),
  };
}

/** Runs a conversation, and keeps it in this browser. */
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Model } from '../../../../gen/parley/catalog/v1/catalog_pb.ts';
import { type PlayClients, PlayContext } from '../clients.ts';
import { type Answer, ask, type ChatSettings, messagesFor, type Question, type Turn } from './chat-run.ts';
import { keep, readKept } from './kept-conversations.ts';

interface Shown {
  /** Of the conversation; undefined before its first question. */
  readonly id: string | undefined;
  readonly turns: readonly Turn[];
  readonly isRunning: boolean;
}

const hide = () => undefined;
const nothing: Shown = { id: undefined, turns: [], isRunning: false };
/** A model may send hundreds of pieces in a second. */
const showEveryMs = 50;
const keepEveryMs = 1_000;
const titleCharactersMax = 60;
/** The conversation that a tab shows again when its reader returns. */
const openKey = 'parley-conversation';

class Chat {
  #shown = nothing;
  #running: AbortController | undefined;
  /** Id of the conversation that was opened last. */
  #wanted: string | undefined;
  #showTimer: ReturnType<typeof setTimeout> | undefined;
  #keepTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #clients: PlayClients;
  readonly #owner: string;
  #show: (shown: Shown) => void = hide;

  constructor(clients: PlayClients, owner: string) {
    this.#clients = clients;
    this.#owner = owner;
  }

  get shown(): Shown {
    return this.#shown;
  }

  isOf(clients: PlayClients, owner: string): boolean {
    return this.#clients === clients && this.#owner === owner;
  }

  /** Shows the conversation in a page that has opened. */
  enter(show: (shown: Shown) => void): void {
    this.#show = show;
    show(this.#shown);
    if (this.#shown === nothing) this.#resume();
  }

  /** Stops the answers, as their page closes. */
  leave(): void {
    this.#show = hide;
    this.stop();
  }

  send(next: Question, models: readonly Model[], settings: ChatSettings): void {
    const { id = newId(), turns } = this.#shown;
    const running = new AbortController();
    this.#running = running;
    this.#set({ id, turns: [...turns, { ...next, answers: {} }], isRunning: true });
    this.#remember(id);
    const answers = models.map((model) =>
      ask(this.#clients, {
        model,
        messages: messagesFor(model.id, turns, next, settings.system),
        settings,
        signal: running.signal,
        onAnswer: (answer) => this.#take(id, turns.length, model.id, answer),
      }),
    );
    void Promise.all(answers).then(() => {
      if (this.#running === running) this.#set({ isRunning: false });
    });
  }

  stop(): void {
    this.#running?.abort();
  }

  /** Shows a kept conversation, or none. Resolves when the earlier one is kept. */
  async open(id: string | undefined): Promise<void> {
    this.stop();
    this.#wanted = id;
    const isUnkept = this.#keepTimer !== undefined;
    clearTimeout(this.#keepTimer);
    const kept = isUnkept ? this.#keep() : undefined;
    this.#replace(nothing);
    await kept;
    const turns = id === undefined ? undefined : await readKept(id);
    // The person may have sent a question or opened another conversation.
    const isAwaited = this.#wanted === id && this.#shown === nothing;
    if (turns && isAwaited) this.#replace({ id, turns: turns.map(ended), isRunning: false });
  }

  #replace(shown: Shown): void {
    this.#running = undefined;
    this.#shown = shown;
    this.#remember(shown.id);
    this.#show(shown);
  }

  /** Shows the conversation that this tab had shown before it was loaded again. */
  #resume(): void {
    const [owner, id] = JSON.parse(sessionStorage.getItem(openKey) ?? '[]') as string[];
    if (owner === this.#owner && id !== undefined) this.open(id).catch(() => undefined);
  }

  #remember(id: string | undefined): void {
    sessionStorage.setItem(openKey, JSON.stringify(id === undefined ? [] : [this.#owner, id]));
  }

  #take(id: string, index: number, model: string, answer: Answer): void {
    // The person may have opened another conversation.
    if (this.#shown.id !== id) return;
    const turns = this.#shown.turns.map((turn, at) =>
      at === index ? { ...turn, answers: { ...turn.answers, [model]: answer } } : turn,
    );
    this.#set({ turns });
  }

  #set(change: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#keepTimer ??= setTimeout(() => void this.#keep(), keepEveryMs);
    if (this.#showTimer !== undefined) return;
    this.#show(this.#shown);
    this.#showTimer = setTimeout(() => {
      this.#showTimer = undefined;
      this.#show(this.#shown);
    }, showEveryMs);
  }

  async #keep(): Promise<void> {
    this.#keepTimer = undefined;
    const { id, turns } = this.#shown;
    if (id === undefined) return;
    const title = [...(turns[0]?.question || 'Images')].slice(0, titleCharactersMax).join('');
    // Without storage in the browser, the conversation continues unsaved.
    await keep({ id, owner: this.#owner, title }, turns).catch(() => undefined);
  }
}

/** Browsers have `crypto.randomUUID` only on pages over TLS and from this machine. */
const newId = (): string => [...crypto.getRandomValues(new Uint32Array(3))].join('-');

/** Marks the answers that were running when their page closed as stopped. */
function ended({ answers, ...turn }: Turn): Turn {
  const all = Object.entries(answers).map(([model, answer]): [string, Answer] => [
    model,
    answer.state === 'running' ? { ...answer, state: 'stopped' } : answer,
  ]);
  return { ...turn, answers: Object.fromEntries(all) };
}

/** The chat of this tab. It outlives its page, so that a reader who returns finds it as it was left. */
let latest: Chat | undefined;

function chatOf(clients: PlayClients, owner: string): Chat {
  if (!latest?.isOf(clients, owner)) latest = new Chat(clients, owner);
  return latest;
}

/** @param owner of the kept conversations */
export function useChat(owner: string) {
  const clients = useContext(PlayContext);
  const [chat] = useState(() => chatOf(clients, owner));
  const [shown, setShown] = useState(chat.shown);
  useEffect(() => {
    chat.enter(setShown);
    return () => chat.leave();
  }, []);
  return { ...shown, chat };
}

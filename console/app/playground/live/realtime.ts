/** A WebSocket of OpenAI's Realtime protocol, opened with the session of the console. */
import type { AudioPart } from './open-microphone.ts';

/** An event of the server; its type decides which members it has. */
export interface ServerEvent {
  readonly type: string;
  readonly item_id?: string;
  readonly request_id?: string;
  readonly delta?: string;
  readonly transcript?: string;
  readonly usage?: { readonly seconds?: number };
  readonly error?: { readonly message: string };
  readonly item?: ServerItem;
  readonly session?: { readonly audio: { readonly output?: object } };
  readonly response?: {
    readonly id: string;
    readonly status: string;
    readonly output: readonly ServerItem[];
    readonly request_id?: string;
    readonly status_details?: { readonly error?: { readonly message: string } } | null;
  };
}

interface ServerItem {
  readonly id: string;
  readonly type: string;
}

export interface RealtimeSocket {
  send(event: object): void;
  sendAudio(part: AudioPart): void;
  close(): void;
}

interface Handlers {
  readonly onEvent: (event: ServerEvent) => void;
  /** Called once, unless `close` was called before. */
  readonly onLost: (problem: string) => void;
}

/** Unsent audio of about 20 seconds: the network is too slow. */
const unsentBytesMax = 1_300_000;
const notOpened =
  'The server did not open a session. It may be busy, or your limits may be used up: see Home. A proxy in front of the server must pass WebSockets on.';
const lost = 'The connection to the server was lost. Start again.';
const tooSlow = 'The network is too slow for live audio. Start again on a better one.';

/**
 * @param query of the path, such as `intent=transcription`
 * @param key instead of the session's cookie
 */
export function openRealtime(
  query: string,
  key: string | undefined,
  { onEvent, onLost }: Handlers,
): RealtimeSocket {
  const protocols = key === undefined ? [] : ['realtime', `openai-insecure-api-key.${key}`];
  const socket = new WebSocket(
    `${location.origin.replace('http', 'ws')}/api/v1/realtime?${query}`,
    protocols,
  );
  const ended = new AbortController();
  const { signal } = ended;
  let problem = notOpened;
  const end = (why: string) => {
    ended.abort();
    socket.close();
    onLost(why);
  };
  socket.addEventListener(
    'message',
    ({ data }) => {
      const event = JSON.parse(String(data)) as ServerEvent;
      // Before it closes a connection, the server says why.
      problem = event.type === 'error' ? (event.error?.message ?? lost) : lost;
      onEvent(event);
    },
    { signal },
  );
  socket.addEventListener('close', () => end(problem), { signal });
  const send = (event: object) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event));
  };
  return {
    send,
    sendAudio({ samples }) {
      if (socket.bufferedAmount > unsentBytesMax) end(tooSlow);
      else send({ type: 'input_audio_buffer.append', audio: base64(samples) });
    },
    close() {
      ended.abort();
      socket.close(1000);
    },
  };
}

function base64(samples: Int16Array): string {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return btoa(String.fromCharCode(...bytes));
}

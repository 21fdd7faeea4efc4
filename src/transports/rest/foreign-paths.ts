/** Paths of other APIs that clients try, and the client's setting that leads here instead. */

interface ForeignPath {
  /** Matches the path without the prefixes `/api` and `/v1`. */
  readonly pattern: RegExp;
  readonly advice: string;
}

const foreignPaths: readonly ForeignPath[] = [
  {
    pattern: /^\/(responses|conversations)(\/|$)/,
    advice:
      "No response or conversation is stored here: send the whole conversation each time. To use chat completions: `setOpenAIAPI('chat_completions')` in @openai/agents, `provider.chat()` in the AI SDK, `useResponsesApi: false` in LangChain.",
  },
  {
    pattern: /^\/realtime$/,
    advice:
      'A realtime session opens over a WebSocket: `GET /api/v1/realtime` with the header `Upgrade: websocket`, which proxies must pass on.',
  },
  {
    pattern: /^\/realtime\/calls(\/|$)/,
    advice:
      "There are no calls over WebRTC or SIP. Open a session over a WebSocket at `/api/v1/realtime`: `transport: 'websocket'` in @openai/agents.",
  },
  {
    pattern: /^\/realtime\//,
    advice:
      'A secret for a browser comes from `POST /api/v1/realtime/client_secrets`. Sessions open over a WebSocket at `/api/v1/realtime`, with `?model=` for a conversation or `?intent=transcription`.',
  },
  {
    pattern: /^\/live(\/|$)/,
    advice:
      'Live speech has its sessions at `/api/v1/realtime`, over a WebSocket, and in the RPC `parley.audio.v1.TranscriptionService/StreamTranscribe`.',
  },
  {
    pattern: /^\/audio\/translations$/,
    advice:
      'Recordings are transcribed in the language that is spoken, not translated. Use `POST /audio/transcriptions`.',
  },
  {
    pattern: /^\/messages(\/|$)/,
    advice:
      'Of the Messages API there are `POST /api/v1/messages` and `POST /api/v1/messages/count_tokens`. End the base URL of its clients in /api.',
  },
  {
    pattern: /^\/v1beta\//,
    advice: "This is a path of Google's API. Choose OpenAI or “OpenAI compatible” as the client's provider.",
  },
  {
    pattern: /^\/openai\/(deployments|responses)(\/|$)/,
    advice: "This is a path of Azure's API. Choose OpenAI, not Azure, as the client's provider.",
  },
  {
    pattern: /^\/(chat|generate|tags|show|embed|ps|version)$/,
    advice: "This is a path of Ollama's API. Choose OpenAI or “OpenAI compatible” as the client's provider.",
  },
  {
    pattern:
      /^\/(embeddings|images|moderations|files|uploads|batches|fine_tuning|assistants|threads|vector_stores|videos|rerank)(\/|$)/,
    advice:
      'Parley serves speech, transcription and chat. Give the client another server for this, or turn it off.',
  },
];

/** The advice for a path of another API; undefined for any other path. @param path without prefixes */
export function foreignPathAdvice(path: string): string | undefined {
  return foreignPaths.find(({ pattern }) => pattern.test(path))?.advice;
}

import type { FuzzTarget } from '../target.ts';

/** Loads only one target, as more code slows coverage down. */
export const targets: Readonly<Record<string, () => Promise<FuzzTarget>>> = {
  forms: async () => (await import('./forms.ts')).forms,
  'chat-json': async () => (await import('./chat-json.ts')).chatJson,
  responses: async () => (await import('./responses.ts')).responses,
  messages: async () => (await import('./messages.ts')).messages,
  'upstream-chunks': async () => (await import('./upstream-chunks.ts')).upstreamChunks,
  sse: async () => (await import('./sse.ts')).sse,
  config: async () => (await import('./config.ts')).config,
  sentences: async () => (await import('./sentences.ts')).sentences,
  envelopes: async () => (await import('./envelopes.ts')).envelopes,
  media: async () => (await import('./media.ts')).media,
};

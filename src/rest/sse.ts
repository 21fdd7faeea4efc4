/** Server-sent events, as the API's clients read them. */

export const sseHeaders: Record<string, string> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Keeps reverse proxies from holding tokens back.
  'x-accel-buffering': 'no',
};

export function sseEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Ends a whole answer; an answer without it was cut short. */
export const sseDone = 'data: [DONE]\n\n';

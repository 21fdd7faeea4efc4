/** Only web pages of listed origins may call. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';

const page = 'https://app.example.com';
const preflight = (origin: string) => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-stainless-os',
  },
});

describe('without listed origins', () => {
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley();
  });
  afterAll(() => parley.close());

  it('a browser gets no CORS headers, and OPTIONS is not_found', async () => {
    expect(await errorOf(await parley.call('/chat/completions', preflight(page)))).toMatchObject({
      status: 404,
    });
    const answer = await parley.call('/models', {
      headers: { ...bearer(parley.apiKey).headers, origin: page },
    });
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  });
});

describe('with a listed origin', () => {
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley({ settings: { cors: { origins: [page] } } });
  });
  afterAll(() => parley.close());

  it.each(['/api/v1/chat/completions', '/parley.chat.v1.ChatService/CreateChatCompletion'])(
    'a browser may ask to post to %s',
    async (path) => {
      const answer = await fetch(new URL(path, parley.baseUrl), preflight(page));
      expect(answer.status).toBe(204);
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('access-control-allow-origin')).toBe(page);
      expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
      expect(answer.headers.get('access-control-allow-headers')).toContain('x-stainless-os');
    },
  );

  it('its page can read answers and errors, and the necessary headers', async () => {
    const headers = { ...bearer(parley.apiKey).headers, origin: page };
    for (const [path, status] of [
      ['/models', 200],
      ['/nowhere', 404],
    ] as const) {
      const answer = await parley.call(path, { headers });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBe(page);
      expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id');
      expect(answer.headers.get('vary')).toContain('origin');
    }
  });

  it('another origin is not allowed', async () => {
    const answer = await parley.call('/chat/completions', preflight('https://evil.example.com'));
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    expect(answer.headers.has('access-control-allow-headers')).toBe(false);
  });
});

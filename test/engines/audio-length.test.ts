/** Transcriptions whose engine reports an impossible length. */
import { afterAll, describe, expect, it } from 'vitest';
import { fakeTranscription, withFakes } from '../support/fake-engines.ts';
import { errorOf, startParley } from '../support/parley.ts';

let durationMs = 0;
const transcription = fakeTranscription({
  transcribe: async function* () {
    yield { kind: 'done', durationMs, language: 'english', text: 'hi' };
  },
});

const parley = await startParley({ engines: withFakes({ transcription }) });
afterAll(() => parley.close());

describe('the length that an engine reports', () => {
  const send = (reportedMs: number) => {
    durationMs = reportedMs;
    const body = new FormData();
    body.append('file', new Blob(['audio']), 'a.wav');
    return parley.call('/audio/transcriptions', { method: 'POST', body });
  };

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])(
    'of %s is a failure of the engine, ends the record and costs nothing',
    async (reportedMs) => {
      const response = await send(reportedMs);
      expect(await errorOf(response.clone())).toMatchObject({ status: 502, code: 'upstream_error' });
      const record = await parley.recordOf(response);
      expect(record).toMatchObject({ state: 'failed', code: 'upstream_error', fairUseUnits: 0 });
    },
  );

  it('of zero is kept', async () => {
    const response = await send(0);
    expect(response.status).toBe(200);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', audioMsIn: 0, fairUseUnits: 0 });
  });
});

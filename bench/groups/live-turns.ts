/** Speech of one person, heard live and by upload in turn. */
import { joinSamples, wavFile } from '../../test/support/audio-files.ts';
import { LiveClient } from '../../test/support/live-client.ts';
import { takeTurns } from '../harness/drive.ts';
import { untilIdle } from '../harness/threads.ts';
import type { Served } from '../servers/child.ts';
import type { Spoken } from './live-speech.ts';
import { upload } from './transcription.ts';

/** Samples that clients usually send at once: 100 ms. */
export const partSamples = 1_600;
/** Ends the turn. It is also at the end of the uploaded file. */
const silence = new Int16Array(8 * partSamples);

/** One session hears everything. */
export async function hearBoth(server: Served, spoken: readonly Spoken[]) {
  const client = new LiveClient({ baseUrl: server.origin, apiKey: server.key });
  client.configure({ turnDetection: {} });
  const recordings = spoken.map(({ samples }) => joinSamples(samples, silence));
  const [live, files] = [recordings.values(), recordings.values()];
  const heard = await takeTurns(
    {
      theirs: () => upload(server, wavFile(files.next().value ?? silence)),
      ours: () => hear(server, client, live.next().value ?? silence),
    },
    { rounds: spoken.length },
  );
  const ended = await client.finish();
  if (ended !== undefined) throw new Error(`the session ended with ${ended}`);
  return heard;
}

/** Sends each part when the server has heard all before it. So a busy machine has as many partial texts as an idle one. */
async function hear(server: Served, client: LiveClient, samples: Int16Array) {
  const ended = () => client.all('stopped').length;
  const [before, partialsBefore] = [ended(), client.all('partial').length];
  await untilIdle(server.pid);
  const startMs = await server.cpuMs();
  let [lastMs, endOfSpeechMs] = [startMs, startMs];
  for (let at = 0; at < samples.length; at += partSamples) {
    const endedBefore = ended();
    client.speak(samples.subarray(at, at + partSamples));
    await untilIdle(server.pid);
    if (ended() > endedBefore) endOfSpeechMs = lastMs;
    // Asking takes CPU as well. Turns end in the silence.
    if (at >= samples.length - silence.length) lastMs = await server.cpuMs();
  }
  if (ended() === before) throw new Error('no end of speech was heard');
  await client.next('turn', ended());
  await untilIdle(server.pid);
  const endMs = await server.cpuMs();
  return {
    // A long pause divides a recording.
    text: client
      .all('turn')
      .slice(before)
      .map(({ text }) => text)
      .join(' '),
    cpuMs: endMs - startMs,
    finalMs: endMs - endOfSpeechMs,
    partials: client.all('partial').length - partialsBefore,
  };
}

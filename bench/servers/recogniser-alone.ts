/**
 * A recogniser of the engine inside by itself, with its decoder, one thread each:
 *
 *   node bench/servers/recogniser-alone.ts moonshine|pocketsphinx
 *
 * A message with the bytes of a WAV file in base64 is answered with its words.
 */
import { createMoonshine } from '../../src/engines/builtin/moonshine/recogniser.ts';
import { createPocketsphinx } from '../../src/engines/builtin/pocketsphinx/index.ts';
import { createFilePool } from '../../src/engines/recordings/file-pool.ts';
import { hearingModule } from '../../src/media/wasm-instance.ts';
import { cpuUsed, serveParent } from './parent.ts';

const [, , name] = process.argv;
const recogniser = name === 'moonshine' ? createMoonshine(1) : createPocketsphinx(1);
const files = createFilePool(1);
const { signal } = new AbortController();

async function hear(wav: string): Promise<string> {
  const file = { module: await hearingModule('decoder'), bytes: new Uint8Array(Buffer.from(wav, 'base64')) };
  const recognise = await recogniser.openFile(signal);
  const heard: string[] = [];
  for await (const { utterance } of files.cuts({ ...file, container: 'wav' }, signal))
    for (const { word } of utterance ? await recognise(utterance) : []) heard.push(word);
  return heard.join(' ');
}

const close = async () => void (await Promise.all([recogniser.close(), files.close()]));
serveParent({ origin: '', key: '' }, close, async (message: 'cpu' | { readonly wav: string }) =>
  message === 'cpu' ? cpuUsed() : { text: await hear(message.wav) },
);

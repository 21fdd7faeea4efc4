/**
 * Runs LiveKit's plugin for servers of the OpenAI API: `node client.mjs <part> <text> [<file of samples>]`. Prints its
 * events as lines of JSON.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { initializeLogger, llm, stt } from '@livekit/agents';
import * as openai from '@livekit/agents-plugin-openai';
import { AudioFrame } from '@livekit/rtc-node';

initializeLogger({ pretty: false, level: 'silent' });
const [part = '', text = '', file = ''] = process.argv.slice(2);
const { PARLEY_BASE_URL: baseURL, PARLEY_API_KEY: apiKey } = process.env;
const connection = { maxRetry: 2, retryIntervalMs: 10, timeoutMs: 60_000 };

/** @param {object} fact */
const print = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);

/** @param {openai.LLM | openai.TTS | openai.STT} model */
function printErrors(model) {
  model.on('error', ({ error, recoverable }) => print({ failed: error.message, isRetried: recoverable }));
  return model;
}

/** @param {boolean} [firstOnly] */
async function chat(firstOnly) {
  const model = printErrors(new openai.LLM({ model: 'eliza', baseURL, apiKey }));
  const chatCtx = new llm.ChatContext();
  chatCtx.addMessage({ role: 'user', content: text });
  const stream = model.chat({ chatCtx, connOptions: connection });
  for await (const { delta, usage } of stream) {
    if (delta?.content) print({ said: delta.content });
    if (usage) print({ usage: { input: usage.promptTokens, output: usage.completionTokens } });
    if (firstOnly && delta?.content) break;
  }
  stream.close();
}

async function speak() {
  const speech = printErrors(new openai.TTS({ model: 'flite', voice: 'rms', baseURL, apiKey }));
  const pieces = [];
  for await (const { frame } of speech.synthesize(text, connection)) {
    pieces.push(Buffer.from(frame.data.buffer, frame.data.byteOffset, frame.data.byteLength));
    if (pieces.length === 1) print({ rate: frame.sampleRate, channels: frame.channels });
  }
  writeFileSync(file, Buffer.concat(pieces));
}

async function transcribe() {
  const listener = new openai.STT({
    model: 'gpt-transcribe',
    baseURL,
    apiKey,
    language: 'en',
    keywords: ['Ada'],
    useRealtime: false,
  });
  const samples = new Int16Array(new Uint8Array(readFileSync(file)).buffer);
  const heard = await listener.recognize(new AudioFrame(samples, 24_000, 1, samples.length));
  print({ heard: heard.alternatives?.[0]?.text });
}

/** Live, with the model's name in `text`. Ends a turn by the server's detection of silence, or by a commit of the plugin. */
async function listen() {
  const listener = printErrors(new openai.STT({ model: text, baseURL, apiKey, useRealtime: true }));
  const stream = listener.stream();
  const samples = new Int16Array(
    new Uint8Array(Buffer.concat([readFileSync(file), Buffer.alloc(48_000)])).buffer,
  );
  const reading = (async () => {
    for await (const event of stream) {
      if (event.type === stt.SpeechEventType.FINAL_TRANSCRIPT)
        return print({ heard: event.alternatives?.[0]?.text });
    }
    print({ failed: 'the stream has ended' });
  })();
  for (let at = 0; at < samples.length; at += 2_400) {
    const part = samples.slice(at, at + 2_400);
    stream.pushFrame(new AudioFrame(part, 24_000, 1, part.length));
    await sleep(100);
  }
  stream.flush();
  await reading;
}

const parts = { listen, chat, leave: () => chat(true), speak, transcribe };
await parts[part]();
process.exit(0);

/** A program that serves one model of sherpa-onnx by the OpenAI API, for the engine that supervises it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorTable, ParleyError, toParleyError } from '../../core/values/errors.ts';
import { loadSherpa, type Sherpa } from './addon.ts';
import { type Answer, type Handle, speechHandle, transcriptionHandle } from './handles.ts';
import { hearingOpener, type OpenHearing } from './hearing.ts';
import { recogniserConfig, voiceConfig } from './model-config.ts';
import type { ModelFiles } from './model-files.ts';
import { createSpeak } from './speech.ts';
import { type StreamingConfig, streamingConfig } from './streaming-config.ts';
import { createTranscribe, type Recognise, recogniseStream, recogniseWhole } from './transcription.ts';

export interface ServedModel extends ModelFiles {
  readonly type: 'speech' | 'transcription';
  /** The number of each voice in the model, by its name. The first is the default. */
  readonly speakers: ReadonlyMap<string, number>;
  /** The language of a model that knows only one. */
  readonly language: string | undefined;
}

export interface ServeOptions {
  readonly socketPath: string;
  /** The folder in which sherpa-onnx-node is installed. */
  readonly runtime: string;
  readonly threads: number;
  /** Files that may be transcribed at once. */
  readonly callsMax: number;
}

/** More than Parley accepts from a client. */
const bodyBytesMax = 32 * 1024 ** 2;

/** Loads the model and listens. @throws an error that names the file which cannot be used */
export async function serveModel(model: ServedModel, options: ServeOptions): Promise<void> {
  const { path, handle, hearing } = await openModel(loadSherpa(options.runtime), model, options);
  const server = createServer((request, response) => {
    if (request.url === '/health') response.end();
    else if (request.method === 'POST' && request.url === path) void serve(handle, request, response);
    else response.writeHead(404).end();
  });
  if (hearing) (await import('./live.ts')).serveLive(server, hearing);
  server.listen(options.socketPath);
}

interface OpenModel {
  readonly path: string;
  readonly handle: Handle;
  /** For models that transcribe speech while it is spoken. */
  readonly hearing?: OpenHearing;
}

async function openModel(
  sherpa: Sherpa,
  model: ServedModel,
  { threads, callsMax }: ServeOptions,
): Promise<OpenModel> {
  if (model.type === 'speech') {
    const config = voiceConfig(model, threads);
    const voice = await named(model, () => sherpa.OfflineTts.createAsync(config));
    return { path: '/v1/audio/speech', handle: speechHandle(createSpeak(voice), model.speakers) };
  }
  const streaming = streamingConfig(model, threads);
  const hearing = streaming && (await openHearing(sherpa, model, streaming));
  const recognise = hearing ? recogniseStream(hearing) : await openWhole(sherpa, model, threads);
  const handle = transcriptionHandle(createTranscribe(recognise, callsMax), model.language);
  return { path: '/v1/audio/transcriptions', handle, ...(hearing && { hearing }) };
}

async function openHearing(
  { OnlineRecognizer }: Sherpa,
  model: ServedModel,
  { config, tailMs }: StreamingConfig,
): Promise<OpenHearing> {
  return hearingOpener(await named(model, async () => new OnlineRecognizer(config)), tailMs);
}

async function openWhole(sherpa: Sherpa, model: ServedModel, threads: number): Promise<Recognise> {
  const config = recogniserConfig(model, threads);
  return recogniseWhole(await named(model, () => sherpa.OfflineRecognizer.createAsync(config)));
}

/**
 * sherpa-onnx ends the process if it cannot use a file, with a line that does not name the file. So the names are
 * written first, in the same line.
 */
async function named<Result>({ files }: ServedModel, load: () => Promise<Result>): Promise<Result> {
  const names = files.map(({ name }) => name).filter((name) => !name.includes('/'));
  process.stderr.write(`Loading ${names.join(', ')}: `);
  const loaded = await load();
  process.stderr.write('done\n');
  return loaded;
}

async function serve(handle: Handle, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  response.once('close', () => stop.abort(new ParleyError('request_cancelled')));
  try {
    const { contentType, body } = await handle(await bodyOf(request), stop.signal);
    await send(response, contentType, body);
  } catch (error) {
    refuse(response, toParleyError(error));
  }
}

/** Sends the head with the first bytes, so that an earlier failure is an error and no broken answer. */
async function send(response: ServerResponse, contentType: string, body: Answer['body']): Promise<void> {
  async function* withHead() {
    for await (const bytes of body) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': contentType });
      yield bytes;
    }
  }
  await pipeline(Readable.from(withHead()), response);
}

function refuse(response: ServerResponse, { code, message, cause }: ParleyError): void {
  if (cause !== undefined) process.stderr.write(`${cause instanceof Error ? cause.message : cause}\n`);
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(errorTable[code].http, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code, message } }));
}

async function bodyOf(request: IncomingMessage): Promise<Request> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > bodyBytesMax) throw new ParleyError('payload_too_large');
    parts.push(part);
  }
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  return new Request('http://localhost', { method: 'POST', headers, body: Buffer.concat(parts) });
}

/** REST as clients of the OpenAI API use it, translated to messages of the schema. */
import type { DescMessage, DescMethodUnary, JsonObject, Message } from '@bufbuild/protobuf';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { CompletionsService } from '../../gen/parley/completions/v1/completions_service_pb.ts';
import { MessagesService } from '../../gen/parley/messages/v1/messages_service_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import { httpRule } from '../../src/codec/http-rule.ts';
import { ApiDocument } from '../support/api-document.ts';
import { type HttpAnswer, type HttpCall, type HttpClient, openHttp1, openHttp2 } from './http-client.ts';
import { decodeBody } from './response-body.ts';
import { completionRequest, readCompletion, readCompletionStream } from './rest-completions.ts';
import { messageRequest, readMessage, readMessageStream, readTokens } from './rest-messages.ts';
import {
  chatRequest,
  type ErrorMembers,
  errorIn,
  formRequest,
  jsonOf,
  type ReadAnswer,
  type RestCall,
  readChat,
  readChatStream,
  readSpeech,
  readTranscript,
  readTranscriptStream,
  speechRequest,
} from './rest-operations.ts';
import { readResponse, readResponseStream, responseRequest } from './rest-responses.ts';
import {
  cancelled,
  deadlineExceeded,
  type Target,
  type WireAnswer,
  type WireCall,
  type WireClient,
  type WireError,
} from './wire.ts';

export function openRest(target: Target): WireClient {
  return restClient('REST', openHttp1(target));
}

export function openRestOverHttp2(target: Target): WireClient {
  return restClient('REST over HTTP/2', openHttp2(target));
}

/** How the request of an RPC is sent over REST, and how its answer is read. */
interface Transcoding {
  readonly toHttp: (request: Message) => RestCall;
  readonly read: (answer: HttpAnswer) => ReadAnswer;
}

const transcodings: ReadonlyMap<unknown, Transcoding> = new Map<unknown, Transcoding>([
  [SpeechService.method.synthesizeSpeech, { toHttp: speechRequest, read: readSpeech }],
  [
    TranscriptionService.method.createTranscription,
    { toHttp: (request) => formRequest(request, false), read: readTranscript },
  ],
  [
    TranscriptionService.method.streamTranscription,
    { toHttp: (request) => formRequest(request, true), read: readTranscriptStream },
  ],
  [
    ChatService.method.createChatCompletion,
    { toHttp: (request) => chatRequest(request, false), read: readChat },
  ],
  [
    ChatService.method.streamChatCompletion,
    { toHttp: (request) => chatRequest(request, true), read: readChatStream },
  ],
  [
    CompletionsService.method.createCompletion,
    { toHttp: (request) => completionRequest(request, false), read: readCompletion },
  ],
  [
    CompletionsService.method.streamCompletion,
    { toHttp: (request) => completionRequest(request, true), read: readCompletionStream },
  ],
  [
    MessagesService.method.createMessage,
    { toHttp: (request) => messageRequest(request, false), read: readMessage },
  ],
  [
    MessagesService.method.streamMessage,
    { toHttp: (request) => messageRequest(request, true), read: readMessageStream },
  ],
  [
    MessagesService.method.countMessageTokens,
    {
      toHttp: (request) => messageRequest(request, false, '/api/v1/messages/count_tokens'),
      read: readTokens,
    },
  ],
  [
    ResponsesService.method.createResponse,
    { toHttp: (request) => responseRequest(request, false), read: readResponse },
  ],
  [
    ResponsesService.method.streamResponse,
    { toHttp: (request) => responseRequest(request, true), read: readResponseStream },
  ],
]);

function restClient(name: string, http: HttpClient): WireClient {
  return { name, wire: 'rest', call: (call) => callRest(http, call), close: () => http.close() };
}

async function callRest(http: HttpClient, call: WireCall): Promise<WireAnswer> {
  const { method, requests, headers, timeoutMs } = call;
  const { toHttp, read } = transcodings.get(method) ?? unaryTranscoding(method as DescMethodUnary);
  const [request] = requests;
  if (request === undefined) throw new Error('a REST call has one request');
  const { contentType, ...sent } = toHttp(request);
  const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const signals = [deadline, call.signal].filter((signal) => signal !== undefined);
  const ownEnd = () => (deadline?.aborted ? deadlineExceeded : call.signal?.aborted ? cancelled : undefined);
  try {
    const answer = await http.send({
      ...sent,
      headers: { ...headers, ...(contentType && { 'content-type': contentType }) },
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
      onChunk: call.onMessage,
    });
    checkDocumented(sent, answer);
    const { messages, error } =
      answer.status === 200 ? read(answer) : { messages: [], error: errorIn(answer) };
    return {
      messages,
      requestId: answer.headers['x-request-id'],
      isReplay: answer.headers['idempotent-replayed'] === 'true',
      error: ownEnd() ?? toWireError(answer, error),
    };
  } catch (thrown) {
    const error = ownEnd();
    if (error === undefined) throw thrown;
    return { messages: [], requestId: undefined, isReplay: false, error };
  }
}

const document = new ApiDocument();

/** Every answer must match the OpenAPI document. */
function checkDocumented({ method, path }: Pick<HttpCall, 'method' | 'path'>, answer: HttpAnswer): void {
  const operation = document.find(method, path);
  if (operation === undefined) throw new Error(`the document does not have ${method} ${path}`);
  const faults = document.faultsOf(operation, answer);
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

/** Path, query and body as the schema states them. */
function unaryTranscoding(method: DescMethodUnary<DescMessage, DescMessage>): Transcoding {
  const { verb, path, pathFields, body } = httpRule(method);
  const { encode } = jsonCodec(method.input);
  return {
    toHttp: (request) => {
      const members = new Map(Object.entries(encode(request) as JsonObject));
      const filled = path.replace(/:(\w+)|\*/g, (found, parameter: string | undefined) => {
        const field = pathFields.get(parameter ?? found) ?? '';
        const value = String(members.get(field));
        members.delete(field);
        return encodeURIComponent(value);
      });
      if (body === '*') {
        const json = JSON.stringify(Object.fromEntries(members));
        return { method: verb, path: filled, body: json, contentType: 'application/json' };
      }
      const query = new URLSearchParams(
        [...members].flatMap(([name, value]) =>
          [value].flat().map((item): [string, string] => [name, String(item)]),
        ),
      );
      return { method: verb, path: query.size === 0 ? filled : `${filled}?${query}` };
    },
    read: (answer) => ({ messages: [decodeBody(method, jsonOf(answer))] }),
  };
}

function toWireError(answer: HttpAnswer, error: ErrorMembers | undefined): WireError | undefined {
  if (error === undefined && !answer.isCut) return undefined;
  const retryAfter = answer.headers['retry-after'];
  return {
    code: error?.code ?? 'cut',
    httpStatus: answer.status === 200 ? undefined : answer.status,
    param: error?.param ?? undefined,
    message: error?.message ?? '',
    retryAfterSeconds: retryAfter === undefined ? undefined : Number(retryAfter),
    grpcCode: undefined,
  };
}

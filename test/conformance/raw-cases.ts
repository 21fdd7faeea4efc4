/** Bodies that only some wires can carry, as HTTP/1.1 bytes: no client of the schema sends them. */
interface RawCase {
  readonly what: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** The code in the error body of REST or Connect; undefined if the call succeeds or the answer has no body. */
  readonly code: string | undefined;
  /** The states of the usage records. */
  readonly records: readonly string[];
}

const json = 'application/json';
const form = 'multipart/form-data; boundary=b';
const speech = '/api/v1/audio/speech';
const chat = '/api/v1/chat/completions';
const completions = '/api/v1/completions';
const messages = '/api/v1/messages';
const responses = '/api/v1/responses';
const transcription = '/api/v1/audio/transcriptions';
const connectChat = '/parley.chat.v1.ChatService/CreateChatCompletion';
const connectTranscription = '/parley.audio.v1.TranscriptionService/CreateTranscription';
const connectModels = '/parley.catalog.v1.CatalogService/ListModels';

const hello = { model: 'eliza', messages: [{ role: 'user', content: 'play: say one' }] };

function rest(what: string, path: string, body: RawCase['body'], code: string, status = 400): RawCase {
  const contentType = path === transcription ? form : json;
  return { what: `REST: ${what}`, path, contentType, body, status, code, records: ['refused'] };
}

/** The gate has accepted the call by its headers, so an unreadable body leaves a record, too. */
function connect(what: string, body: RawCase['body'], code: string, status = 400): RawCase {
  return {
    what: `Connect: ${what}`,
    path: connectChat,
    contentType: json,
    body,
    status,
    code,
    records: ['refused'],
  };
}

const restCases: readonly RawCase[] = [
  ...[speech, chat, responses, messages, `${messages}/count_tokens`, completions].flatMap((path) => [
    rest(`half an object to ${path}`, path, '{"model":', 'invalid_request_error'),
    rest(`nothing to ${path}`, path, '', 'invalid_request_error'),
    rest(`null to ${path}`, path, 'null', 'invalid_request_error'),
    rest(`a list to ${path}`, path, '[{}]', 'invalid_request_error'),
    rest(`a text to ${path}`, path, '"hello"', 'invalid_request_error'),
    rest(
      `what is not UTF-8 to ${path}`,
      path,
      Buffer.from('{"model":"\xff"}', 'latin1'),
      'invalid_request_error',
    ),
  ]),
  rest('a text that is a number', speech, '{"model":"flite","input":5}', 'invalid_input'),
  rest('messages that are a text', chat, '{"model":"eliza","messages":"hi"}', 'invalid_messages'),
  rest('no messages in a list', chat, '{"model":"eliza","messages":[]}', 'missing_messages'),
  rest('a prompt of tokens', completions, '{"model":"eliza","prompt":[5]}', 'invalid_input'),
  rest('a block that is a text', messages, '{"model":"eliza","messages":["hi"]}', 'invalid_messages'),
  rest('no messages', messages, '{"model":"eliza","messages":null}', 'missing_messages'),
  rest('input that is a number', responses, '{"model":"eliza","input":5}', 'invalid_input'),
  rest('input that is null', responses, '{"model":"eliza","input":null}', 'missing_input'),
  rest('stream in words', chat, JSON.stringify({ ...hello, stream: 'yes' }), 'invalid_parameter'),
  rest(
    'a form without an end',
    transcription,
    '--b\r\ncontent-disposition: form-data; name="x"\r\n\r\n1',
    'invalid_request_error',
  ),
  rest('a body over the limit of speech', speech, ' '.repeat(1_048_577), 'payload_too_large', 413),
  {
    ...rest('a parameter that it does not name', chat, JSON.stringify({ ...hello, future: 1 }), '', 200),
    code: undefined,
    records: ['ok'],
  },
];

const params = { model: 'eliza', messages: [{ role: 'user', content: { text: 'play: say one' } }] };

const hearing = (temperature: string) => JSON.stringify({ file: 'UklGRg==', fileName: 'a.wav', temperature });

const waiting = { model: 'eliza', messages: [{ role: 'user', content: { text: 'play: wait' } }] };

const connectCases: readonly RawCase[] = [
  connect('half an object', '{"params":', 'invalid_argument'),
  connect('a list', '[]', 'invalid_argument'),
  connect('a model that is a number', '{"params":{"model":5}}', 'invalid_argument'),
  ...['NaN', 'Infinity', '-Infinity'].flatMap((number) => [
    connect(
      `the number ${number}`,
      JSON.stringify({ params: { ...params, temperature: number } }),
      'invalid_argument',
    ),
    {
      ...connect(`the temperature ${number} of a file`, hearing(number), 'invalid_argument'),
      path: connectTranscription,
    },
  ]),
  connect('a message over the limit', ' '.repeat(20 * 1_048_576 + 1), 'resource_exhausted', 429),
  {
    ...connect('a parameter that the schema does not name', JSON.stringify({ params, future: 1 }), '', 200),
    code: undefined,
    records: ['ok'],
  },
  {
    ...connect(
      'a deadline that the client does not watch itself',
      JSON.stringify({ params: waiting }),
      'deadline_exceeded',
      504,
    ),
    headers: { 'connect-timeout-ms': '300' },
    records: ['cancelled'],
  },
  { ...connect('text', 'hello', '', 415), contentType: 'text/plain', code: undefined },
  { ...connect('a method that there is not', '{}', 'unimplemented', 404), path: `${connectModels}s` },
  { ...connect('protobuf that is none', '\xff\xff', 'invalid_argument'), contentType: 'application/proto' },
];

export const rawCases: readonly RawCase[] = [...restCases, ...connectCases];

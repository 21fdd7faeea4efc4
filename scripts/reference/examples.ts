/** Example values, from which the examples of requests and answers are made. */
import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { formOf, isAlwaysPresent, objectShape } from '../../src/codec/shape.ts';
import { nullable } from './rest-forms.ts';

/** Examples by the name of the member, or by message and member if the name alone is ambiguous. */
const values: Readonly<Record<string, JsonValue>> = {
  account_id: 'acme',
  key_id: 'key_0198f2c1a5b27c3d8e4f5a6b7c8d9e10',
  name: 'acme',
  model: 'eliza',
  input: 'I miss the sea.',
  prompt: 'I miss the sea.',
  created_at: '2026-11-22T09:30:00Z',
  started_at: '2026-11-22T09:30:00Z',
  ends_at: '2099-12-31T00:00:00Z',
  resets_at: '2026-12-01T00:00:00Z',
  balance_nano_credits: 9_998_750_000,
  balance: '9.99875',
  held_nano_credits: 0,
  limit_units: 300_000,
  used_units: 1_250,
  amount: '25',
  amount_nano_credits: 25_000_000_000,
  reason: 'Invoice 7',
  reference: 'invoice-7',
  idempotency_key: 'invoice-7',
  next_page_token: 'bmV4dA',
  secret: 'pk_…',
  prefix: 'pk_',
  last_four: '7Qx2',
  scopes: ['speech', 'chat'],
  before: '2026-01-01T00:00:00Z',
  requests: 812,
  characters: 14,
  audio_seconds_in: 0,
  audio_seconds_out: 0.84,
  fair_use_units: 14,
  cost_nano_credits: 1_250_000,
  cost: '0.00125',
  prompt_tokens: 7,
  completion_tokens: 3,
  total_tokens: 10,
  records_removed: 50_000,
  answers_removed: 3,
  complete: false,
  object: 'list',
  language: 'en-US',
  'Account.id': 'acc_0198f2c1a5b27c3d8e4f5a6b7c8d9e0f',
  'Subscription.state': 'trial',
  'NodeState.name': 'host-1:4242',
  'NodeState.version': '0.1.0',
  'NodeState.state': 'alive',
  lease_ends_at: '2026-11-22T09:30:03Z',
  late_ms: 0,
  'UsageRecord.id': 'req_0198f2c1a5b27c3d8e4f5a6b7c8d9e11',
  'UsageRecord.account_id': 'acc_0198f2c1a5b27c3d8e4f5a6b7c8d9e0f',
  'UsageRecord.operation': 'speech',
  'UsageRecord.model': 'flite',
  'UsageRecord.wire': 'rest',
  'UsageRecord.state': 'ok',
  'UsageRecord.http_status': 200,
  'UsageRecord.first_output_ms': 41,
  'UsageRecord.duration_ms': 96,
  'LedgerEntry.id': 'led_0198f2c1a5b27c3d8e4f5a6b7c8d9e12',
  'LedgerEntry.kind': 'load',
  'Key.id': 'key_0198f2c1a5b27c3d8e4f5a6b7c8d9e10',
  'Key.account_id': 'acc_0198f2c1a5b27c3d8e4f5a6b7c8d9e0f',
  'Key.name': 'app',
  'CreateKeyRequest.name': 'app',
  'CreateKeyRequest.scopes': ['speech', 'chat'],
  'CreateAdminKeyRequest.name': 'operations',
  'CreateInvitationRequest.name': 'Ada',
  'CreateInvitationRequest.console_url': 'https://parley.example.com',
  'CreateInvitationResponse.url': 'https://parley.example.com/console/invitation#pi_…',
  'UsageTotal.month': '2026-11',
  'GetServerStateResponse.version': '0.1.0',
  'EngineState.name': 'builtin',
  'EngineState.kind': 'builtin',
  'EngineState.up': true,
  'EngineState.requests': {
    running: 2,
    ended: 40,
    failed: 1,
    first_output_ms_median: 120,
    first_output_ms_p95: 480,
  },
  'ModelState.id': 'flite',
  'ModelState.type': 'speech',
  'ModelState.model': {
    id: 'flite',
    object: 'model',
    created: 1_767_225_600,
    owned_by: 'parley',
    type: 'speech',
  },
  'ModelState.available': false,
  'ModelState.reason': 'Its engine does not answer.',
  'CheckEngineRequest.kind': 'openai',
  'CheckEngineRequest.url': 'http://127.0.0.1:8000/v1',
  'CheckEngineResponse.models': ['llama-3.2-3b-instruct'],
  'WaitingAddress.address': 'ops@example.com',
  'SendMailConfirmationRequest.address': 'ops@example.com',
  'ConfirmMailAddressRequest.code': 'ABCD-EFGH-JKMN',
  'ConfirmMailAddressResponse.address': 'ops@example.com',
  'GetConfigurationResponse.path': 'parley.yaml',
  'GetConfigurationResponse.version': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'ConfigurationEntry.section': 'models',
  'ConfigurationEntry.name': 'whisper',
  'ConfigurationEntry.yaml': 'id: whisper\ntype: transcription\nengine: upstream\n',
  'ChangeConfigurationRequest.version': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'UndoConfigurationChangeRequest.version':
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'ChangeConfigurationRequest.edits': [
    { section: 'models', name: 'whisper', yaml: 'id: whisper\ntype: transcription\nengine: upstream\n' },
  ],
  'ConfigurationEdit.section': 'models',
  'ConfigurationEdit.name': 'whisper',
  'ConfigurationEdit.yaml': 'id: whisper\ntype: transcription\nengine: upstream\n',
  'ConfigurationEdit.api_key': 'sk-upstream',
  'ConfigurationFinding.setting': 'models[0].type',
  'ConfigurationFinding.message': '`whisper` is a second transcription model.',
  'NamedId.id': 'acc_0198f2c1a5b27c3d8e4f5a6b7c8d9e0f',
  'NamedId.name': 'acme',
  'ConfigurationFile.path': 'parley.yaml',
  'ConfigurationFile.changed': ['models[1].id'],
  'Setting.name': 'server.port',
  'Setting.value': '8080',
  'Diagnostic.area': 'engine local',
  'Diagnostic.subject': 'address',
  'Diagnostic.state': 'ok',
  'Diagnostic.found': 'It answers.',
  'AuditEntry.id': 'aud_0198f2c1a5b27c3d8e4f5a6b7c8d9e13',
  'AuditEntry.actor': 'cli',
  'AuditEntry.action': 'credits.load',
  'AuditEntry.target': 'acc_0198f2c1a5b27c3d8e4f5a6b7c8d9e0f',
  'MatrixRoom.homeserver_url': 'https://matrix.example.com',
  'MatrixRoom.room_id': '!ops:example.com',
  'AuditEntry.details': '{"amount":"25","reason":"Invoice 7"}',
  'Model.id': 'flite',
  'GetModelRequest.id': 'flite',
  'Model.object': 'model',
  'Model.created': 1_795_300_000,
  'Model.owned_by': 'parley',
  'Model.type': 'speech',
  'Model.voices': ['slt', 'rms'],
  'Model.voiceDetails': [
    { id: 'slt', language: 'en-US' },
    { id: 'rms', language: 'en-US' },
  ],
  'Model.defaultVoice': 'slt',
  'OfferedVoice.id': 'slt',
  'OfferedVoice.name': 'slt',
  'OfferedVoice.models': ['flite'],
  'SynthesizeSpeechRequest.model': 'flite',
  'SynthesizeSpeechRequest.input': 'Good morning.',
  'SynthesizeSpeechRequest.voice': 'slt',
  'SynthesizeSpeechRequest.response_format': 'mp3',
  'ChatCompletionParams.model': 'eliza',
  'ChatCompletionParams.messages': [{ role: 'user', content: 'I miss the sea.' }],
  'ChatCompletion.id': 'chatcmpl-0198f2c1a5b27c3d8e4f5a6b7c8d9e14',
  'ChatCompletion.object': 'chat.completion',
  'ChatCompletion.created': 1_795_300_000,
  'ChatCompletion.model': 'eliza',
  'ChatCompletion.choices': [
    {
      index: 0,
      message: { role: 'assistant', content: 'What would it mean to you to see it again?', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  'MessageParams.model': 'eliza',
  'MessageParams.max_tokens': 100,
  'MessageParams.messages': [{ role: 'user', content: 'I miss the sea.' }],
  'Message.id': 'msg_0198f2c1a5b27c3d8e4f5a6b7c8d9e17',
  'Message.type': 'message',
  'Message.role': 'assistant',
  'Message.model': 'eliza',
  'Message.content': [{ type: 'text', text: 'What would it mean to you to see it again?' }],
  'Message.stop_reason': 'end_turn',
  'Message.stop_sequence': null,
  'MessageUsage.input_tokens': 7,
  'MessageUsage.output_tokens': 3,
  'MessageTokens.input_tokens': 7,
  'CompletionParams.model': 'eliza',
  'CompletionParams.prompt': 'I miss the sea.',
  'Completion.id': 'cmpl-0198f2c1a5b27c3d8e4f5a6b7c8d9e16',
  'Completion.object': 'text_completion',
  'Completion.created': 1_795_300_000,
  'Completion.model': 'eliza',
  'Completion.choices': [
    { text: 'What would it mean to you to see it again?', index: 0, logprobs: null, finish_reason: 'stop' },
  ],
  'Response.id': 'resp_0198f2c1a5b27c3d8e4f5a6b7c8d9e15',
  'Response.object': 'response',
  'Response.created_at': 1_795_300_000,
  'Response.status': 'completed',
  'Response.error': null,
  'Response.incomplete_details': null,
  'Response.output': [
    {
      type: 'message',
      id: 'msg_0198f2c1a5b27c3d8e4f5a6b7c8d9e16',
      status: 'completed',
      role: 'assistant',
      content: [
        {
          type: 'output_text',
          text: 'What would it mean to you to see it again?',
          annotations: [],
          logprobs: [],
        },
      ],
    },
  ],
  'Response.usage': {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 10,
  },
  'Response.metadata': {},
  'Response.tools': [],
  'Response.tool_choice': 'auto',
  'Response.text': { format: { type: 'text' } },
  'Response.reasoning': { effort: null, summary: null },
  'Response.parallel_tool_calls': true,
  'Response.truncation': 'disabled',
};

/** Members with a value above that no example contains. */
const leftOut: ReadonlySet<string> = new Set([
  ...['cost_nano_credits', 'audio_seconds_in', 'prompt_tokens', 'completion_tokens', 'total_tokens'].map(
    (name) => `UsageRecord.${name}`,
  ),
  'Model.price',
  'UsageTotal.account_id',
]);

/** @returns undefined if the field has no example and may be left out */
export function fieldExample(field: DescField): JsonValue | undefined {
  const own = `${field.parent.name}.${field.jsonName}`;
  return own in values ? values[own] : values[field.jsonName];
}

/** An answer with all its messages and all members that have an example. */
export function responseExample(message: DescMessage): JsonValue {
  switch (formOf(message)) {
    case 'object':
      return Object.fromEntries(objectShape(message).fields.flatMap(memberOf));
    case 'list':
      return [];
    case 'union':
      return message.fields[0] === undefined ? null : (fieldExample(message.fields[0]) ?? '');
  }
}

function memberOf(field: DescField): [string, JsonValue][] {
  if (leftOut.has(`${field.parent.name}.${field.jsonName}`)) return [];
  const example = fieldExample(field);
  const value = example === undefined ? composed(field) : example;
  return value === undefined ? [] : [[field.jsonName, value]];
}

function composed(field: DescField): JsonValue | undefined {
  if (nullable.has(`${field.parent.typeName}.${field.name}`)) return null;
  if (field.fieldKind === 'list' && isAlwaysPresent(field))
    return field.message === undefined ? [] : [responseExample(field.message)];
  if (field.fieldKind === 'message' && field.message.typeName.startsWith('parley.')) {
    const example = responseExample(field.message);
    return isEmpty(example) ? undefined : example;
  }
  if (field.fieldKind === 'scalar' && field.oneof === undefined && field.proto.proto3Optional === false) {
    return plainValue(field.scalar);
  }
  return undefined;
}

function plainValue(scalar: ScalarType): JsonValue {
  if (scalar === ScalarType.BOOL) return false;
  return scalar === ScalarType.STRING ? '…' : 0;
}

function isEmpty(example: JsonValue): boolean {
  return typeof example === 'object' && example !== null && Object.keys(example).length === 0;
}

/** A request with its required members, and with those that have an example for this message alone. */
export function requestExample(
  { name }: DescMessage,
  fields: readonly DescField[],
  required: readonly string[],
): JsonObject {
  const members = fields.flatMap((field): [string, JsonValue][] => {
    const isMeant = `${name}.${field.jsonName}` in values || required.includes(field.jsonName);
    const value = fieldExample(field);
    return isMeant && value !== undefined ? [[field.jsonName, value]] : [];
  });
  return Object.fromEntries(members);
}

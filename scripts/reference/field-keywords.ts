/** JSON Schema keywords that the type of a field does not give: bounds and allowed values. */
import type { JsonObject } from '@bufbuild/protobuf';
import { accountOrders, accountStates } from '../../src/core/entities/account.ts';
import { entrySections } from '../../src/core/entities/configuration.ts';
import { audioFormats } from '../../src/core/entities/engine.ts';
import { adminScopes, scopes } from '../../src/core/entities/key.ts';
import { modelTypes } from '../../src/core/entities/model.ts';
import { checkedKinds } from '../../src/core/entities/server.ts';
import { operations, recordStates, topMeasures, totalDimensions } from '../../src/core/entities/usage.ts';
import { bounds } from '../../src/core/values/bounds.ts';

const rates = [
  ...['requests_per_minute', 'tokens_per_minute', 'concurrent_requests'],
  ...['audio_seconds_per_day', 'characters_per_day'],
];
/** A whole number that a JSON number holds exactly. */
const tokenLimit = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const prompts = { type: 'array', minItems: 1, maxItems: 1, items: { type: 'string' } };
/** No value but null. */
const none = { not: {} };

/** Members that requests must have, though answers may lack them. */
export const requiredInRequests: ReadonlySet<string> = new Set([
  'parley.chat.v1.ChatMessage.role',
  'parley.responses.v1.ResponseTool.type',
  'parley.responses.v1.ResponseTool.name',
  'parley.messages.v1.InputMessage.role',
  'parley.messages.v1.InputMessage.content',
  'parley.messages.v1.MessageToolChoice.type',
  'parley.messages.v1.OutputFormat.type',
]);

/** Keywords of request fields with this name. */
export const requestKeywords: Readonly<Record<string, JsonObject>> = {
  page_size: bounds.pageSize,
  page_token: bounds.pageToken,
  top: bounds.top,
  top_by: { enum: [...topMeasures] },
  order_by: { enum: [...accountOrders] },
  account_ids: bounds.namedIds,
  key_ids: bounds.namedIds,
};

/** Requests that filter usage records. */
const recordFilter = {
  operation: { enum: [...operations] },
  state: { enum: [...recordStates] },
  model: bounds.notBlank,
  id: bounds.requestId,
};
const days = { start_time: bounds.dayStart, end_time: bounds.dayStart };

/** Keywords of fields of messages, by the full names of the fields. */
function onEach(
  messages: readonly string[],
  fields: Readonly<Record<string, JsonObject>>,
): Record<string, JsonObject> {
  const names = messages.flatMap((message) =>
    Object.entries(fields).map(([name, keywords]) => [`parley.${message}.${name}`, keywords] as const),
  );
  return Object.fromEntries(names);
}

/** Keywords that the type of a field does not give, by its full name. */
export const fieldKeywords: Readonly<Record<string, JsonObject>> = {
  'parley.speech.v1.SynthesizeSpeechRequest.response_format': { enum: [...audioFormats], default: 'mp3' },
  'parley.speech.v1.SynthesizeSpeechRequest.model': bounds.notBlank,
  'parley.speech.v1.SynthesizeSpeechRequest.input': bounds.speechInput,
  'parley.speech.v1.SynthesizeSpeechRequest.voice': bounds.notBlank,
  'parley.chat.v1.ChatMessage.role': bounds.notBlank,
  'parley.chat.v1.ChatCompletionParams.model': bounds.notBlank,
  'parley.chat.v1.ChatCompletionParams.messages': bounds.messages,
  'parley.chat.v1.ChatCompletionParams.n': { type: 'integer', ...bounds.choices },
  'parley.chat.v1.ChatCompletionParams.max_tokens': tokenLimit,
  'parley.chat.v1.ChatCompletionParams.max_completion_tokens': tokenLimit,
  'parley.completions.v1.CompletionParams.model': bounds.notBlank,
  'parley.completions.v1.CompletionParams.prompt': { anyOf: [{ type: 'string' }, prompts] },
  'parley.completions.v1.CompletionParams.suffix': { maxLength: 0 },
  'parley.completions.v1.CompletionParams.echo': { enum: [false] },
  'parley.completions.v1.CompletionParams.logprobs': none,
  'parley.completions.v1.CompletionParams.n': { type: 'integer', ...bounds.choices },
  'parley.completions.v1.CompletionParams.max_tokens': tokenLimit,
  'parley.messages.v1.MessageParams.model': bounds.notBlank,
  'parley.messages.v1.MessageParams.messages': bounds.messages,
  'parley.messages.v1.MessageParams.max_tokens': { ...tokenLimit, minimum: 1 },
  'parley.messages.v1.InputMessage.role': { enum: ['user', 'assistant', 'system'] },
  'parley.messages.v1.MessageToolChoice.type': { enum: ['auto', 'any', 'tool', 'none'] },
  'parley.messages.v1.OutputFormat.type': { enum: ['json_schema'] },
  'parley.audio.v1.ClientSecretExpiry.anchor': { enum: ['created_at'] },
  'parley.audio.v1.ClientSecretExpiry.seconds': { type: 'integer', ...bounds.clientSecretSeconds },
  'parley.responses.v1.ResponseParams.model': bounds.notBlank,
  'parley.responses.v1.ResponseTool.type': { enum: ['function', 'custom'] },
  'parley.responses.v1.ResponseTool.name': { minLength: 1 },
  'parley.responses.v1.ResponseParams.previous_response_id': none,
  'parley.responses.v1.ResponseParams.conversation': { type: 'null' },
  'parley.responses.v1.ResponseParams.prompt': { type: 'null' },
  'parley.responses.v1.ResponseParams.background': { enum: [false] },
  'parley.responses.v1.ResponseParams.max_output_tokens': tokenLimit,
  'parley.account.v1.Limits.models': {
    ...bounds.limitEntries,
    minItems: 1,
    items: { type: 'string', ...bounds.modelPattern },
  },
  'parley.account.v1.Limits.addresses': {
    ...bounds.limitEntries,
    minItems: 1,
    items: { type: 'string', format: 'network' },
  },
  ...onEach(['account.v1.Limits'], Object.fromEntries(rates.map((name) => [name, bounds.rate]))),
  ...onEach(['account.v1.Budgets'], { day: bounds.credits, month: bounds.credits, total: bounds.credits }),
  ...onEach(['account.v1.EndUserBudgets'], { day: bounds.credits, month: bounds.credits }),
  'parley.alerts.v1.AlertSettings.webhook_url': { format: 'uri', ...bounds.webhookUrl },
  'parley.alerts.v1.AlertSettings.percents': {
    ...bounds.percents,
    minItems: 1,
    items: { type: 'integer', format: 'int32', ...bounds.percent },
  },
  'parley.alerts.v1.AlertSettings.balance_below': bounds.creditsAboveZero,
  'parley.alerts.v1.AlertSettings.mail_addresses': {
    ...bounds.mailAddresses,
    minItems: 1,
    items: { type: 'string', ...bounds.mailAddress },
  },
  'parley.alerts.v1.AlertSettings.slack_url': { format: 'uri', ...bounds.webhookUrl },
  'parley.alerts.v1.MatrixRoom.homeserver_url': { format: 'uri', ...bounds.webhookUrl },
  'parley.alerts.v1.MatrixRoom.room_id': bounds.matrixRoom,
  'parley.alerts.v1.MatrixRoom.access_token': bounds.matrixToken,
  'parley.admin.v1.CreateAccountRequest.name': bounds.name,
  'parley.admin.v1.RenameAccountRequest.name': bounds.name,
  'parley.admin.v1.ListAccountsRequest.name_contains': bounds.name,
  'parley.admin.v1.ListAuditEntriesRequest.actor': bounds.reason,
  'parley.admin.v1.ListAuditEntriesRequest.search': bounds.name,
  'parley.admin.v1.ListAccountsRequest.state': { enum: [...accountStates] },
  'parley.admin.v1.CreateAdminKeyRequest.name': bounds.name,
  'parley.admin.v1.CreateInvitationRequest.name': bounds.name,
  'parley.admin.v1.CreateInvitationRequest.console_url': { format: 'uri', ...bounds.webhookUrl },
  'parley.admin.v1.CreateInvitationRequest.mail_address': bounds.mailAddress,
  'parley.management.v1.CreateKeyRequest.name': bounds.name,
  'parley.admin.v1.LoadCreditsRequest.amount': bounds.creditsAboveZero,
  'parley.admin.v1.AdjustCreditsRequest.amount': bounds.creditsNotZero,
  ...onEach(['admin.v1.LoadCreditsRequest', 'admin.v1.AdjustCreditsRequest'], {
    reason: bounds.reason,
    idempotency_key: bounds.reason,
  }),
  'parley.management.v1.RotateKeyRequest.overlap_seconds': bounds.overlapSeconds,
  'parley.catalog.v1.ListModelsRequest.type': { enum: [...modelTypes] },
  'parley.admin.v1.CheckEngineRequest.kind': { enum: [...checkedKinds] },
  'parley.admin.v1.CheckEngineRequest.api_key': bounds.upstreamKey,
  'parley.admin.v1.CheckEngineRequest.models': { minItems: 1, ...bounds.checkedModels },
  'parley.admin.v1.ChangeConfigurationRequest.edits': bounds.configurationEdits,
  'parley.admin.v1.ConfigurationEdit.section': { enum: [...entrySections] },
  'parley.admin.v1.ConfigurationEdit.name': bounds.modelName,
  'parley.admin.v1.ConfigurationEdit.yaml': bounds.entryYaml,
  'parley.admin.v1.ChangeConfigurationRequest.version': bounds.configurationVersion,
  'parley.admin.v1.UndoConfigurationChangeRequest.version': bounds.configurationVersion,
  'parley.admin.v1.ConfigurationEdit.api_key': bounds.upstreamKey,
  'parley.admin.v1.CheckedModel.name': bounds.modelName,
  'parley.admin.v1.CheckedModel.type': { enum: [...modelTypes] },
  'parley.admin.v1.CreateAdminKeyRequest.scopes': {
    items: { type: 'string', enum: [...adminScopes] },
    minItems: 1,
  },
  'parley.admin.v1.CreateInvitationRequest.scopes': {
    items: { type: 'string', enum: [...scopes, ...adminScopes] },
    minItems: 1,
  },
  'parley.management.v1.CreateKeyRequest.scopes': {
    items: { type: 'string', enum: [...scopes] },
    minItems: 1,
  },
  'parley.account.v1.GetUsageTotalsRequest.group_by': {
    items: { type: 'string', enum: [...totalDimensions] },
  },
  ...onEach(['account.v1.ListUsageRecordsRequest'], recordFilter),
  ...onEach(['account.v1.GetUsageTotalsRequest'], days),
  'parley.account.v1.GetStatementRequest.month': bounds.month,
  'parley.admin.v1.ListAuditEntriesRequest.after': bounds.auditCursor,
  'parley.catalog.v1.Model.type': { enum: [...modelTypes] },
  'parley.admin.v1.ModelState.type': { enum: [...modelTypes] },
  'parley.admin.v1.EngineState.breaker': { enum: ['closed', 'open', 'half_open'] },
  'parley.admin.v1.NodeState.state': { enum: ['alive', 'late', 'dead'] },
  'parley.admin.v1.Diagnostic.state': { enum: ['ok', 'warning', 'problem'] },
  'parley.account.v1.Subscription.state': { enum: ['none', 'trial', 'active', 'ended'] },
  'parley.account.v1.LedgerEntry.kind': { enum: ['load', 'debit', 'adjustment'] },
  'parley.account.v1.UsageRecord.operation': { enum: [...operations] },
  'parley.account.v1.UsageRecord.wire': { enum: ['rest', 'connect', 'grpc', 'grpc-web', 'websocket'] },
  'parley.account.v1.UsageRecord.state': { enum: [...recordStates] },
  'parley.account.v1.UsageRecord.tokens_source': { enum: ['reported', 'estimated'] },
  'parley.account.v1.UsageTotal.operation': { enum: [...operations] },
  'parley.account.v1.UsageTotal.state': { enum: [...recordStates] },
  // Seconds since 1970, which a JSON number holds exactly.
  'parley.catalog.v1.Model.created': { type: 'integer' },
  'parley.chat.v1.ChatCompletion.created': { type: 'integer' },
  'parley.chat.v1.ChatCompletionChunk.created': { type: 'integer' },
  'parley.responses.v1.Response.created_at': { type: 'integer' },
  'parley.completions.v1.Completion.created': { type: 'integer' },
};

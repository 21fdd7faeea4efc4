/** The operations of the OpenAPI document, one for each RPC with a REST path. */
import type { DescField, DescMessage, DescMethod, JsonObject, JsonValue, Registry } from '@bufbuild/protobuf';
import { httpRule } from '../../src/codec/http-rule.ts';
import { formOf, objectShape } from '../../src/codec/shape.ts';
import type { Operation } from '../../src/core/entities/usage.ts';
import { strictOperations as strict } from '../../src/core/rpcs.ts';
import { basePath } from '../../src/core/values/base-path.ts';
import { isObject } from '../../src/core/values/json.ts';
import { type Components, isRequired } from './components.ts';
import { errorResponses, headerRef, type OperationFacts } from './errors.ts';
import { fieldExample, requestExample, responseExample } from './examples.ts';
import { grpcSample } from './grpc-sample.ts';
import { type RestForm, restForms } from './rest-forms.ts';
import { capitalised, commentOf, packageWord } from './schemas.ts';
import { titleOfOperation } from './titles.ts';

/** The operation that the RPCs of a package count as. All other packages are chat. */
const operationOfPackage: Readonly<Record<string, Operation>> = {
  speech: 'speech',
  audio: 'transcription',
  catalog: 'catalog',
  account: 'account',
  admin: 'admin',
  management: 'manage',
  alerts: 'manage',
};

/** Operations whose plain answer is repeated for the same Idempotency-Key. */
const idempotent: ReadonlySet<Operation> = new Set<Operation>(['speech', 'transcription', 'chat']);

export interface RestOperation {
  /** Path such as `/admin/accounts/{account_id}`, below the base path. */
  readonly path: string;
  readonly verb: 'get' | 'post';
  readonly operation: JsonObject;
}

function operationOf(method: DescMethod): Operation {
  const own = restForms[fullName(method)]?.operation;
  return own ?? operationOfPackage[packageWord(method.parent.typeName)] ?? 'chat';
}

export function restOperation(method: DescMethod, components: Components, registry: Registry): RestOperation {
  const rule = httpRule(method);
  const form = formOf(method.input) === 'object' ? (restForms[fullName(method)] ?? {}) : {};
  const kind = operationOf(method);
  const { fields } = objectShape(method.input);
  const inPath = new Set(rule.pathFields.values());
  const others = fields.filter(({ name }) => !inPath.has(name));
  const facts = factsOf(method, kind);
  const parameters = [
    ...fields.filter(({ name }) => inPath.has(name)).map((field) => parameter(components, field, 'path')),
    ...(facts.hasBody ? [] : others.map((field) => parameter(components, field, 'query', form))),
    ...(idempotent.has(kind) ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
  ];
  const body = facts.hasBody
    ? { requestBody: form.requestBody ?? requestBody(components, method, others, kind) }
    : {};
  const success = { '200': successResponse(components, method, form, kind) };
  return {
    path: restPath(method),
    verb: rule.verb === 'GET' ? 'get' : 'post',
    operation: {
      operationId: operationId(method),
      tags: [tagOf(method.parent)],
      'x-title': titleOfOperation(operationId(method)),
      ...(form.title ?? titleOf(method)),
      'x-grpc': grpcSample(method, examplesOf(parameters, body), registry),
      security: [{ [kind === 'admin' ? 'adminKey' : 'apiKey']: [] }],
      ...(parameters.length > 0 && { parameters }),
      ...body,
      responses: { ...success, ...errorResponses(facts) },
    },
  };
}

/** The members of the example: of the path, and of a body that is JSON. */
function examplesOf(
  parameters: readonly JsonObject[],
  { requestBody = {} }: { readonly requestBody?: JsonObject },
): { readonly path: JsonObject; readonly body: JsonObject } {
  const path = parameters.flatMap(({ name, example }): [string, JsonValue][] =>
    example === undefined ? [] : [[String(name), example]],
  );
  const { content = {} } = requestBody;
  const json = isObject(content) ? content['application/json'] : undefined;
  const example = isObject(json) ? json['example'] : undefined;
  return { path: Object.fromEntries(path), body: isObject(example) ? example : {} };
}

function factsOf(method: DescMethod, operation: Operation): OperationFacts {
  const { body, pathFields } = httpRule(method);
  const { fields } = method.input;
  const inBody = fields.find(({ name }) => name === body)?.message?.fields ?? [];
  const queryCount = fields.length - pathFields.size;
  return {
    operation,
    hasBody: body !== '',
    hasParameters: strict.has(operation) || queryCount > 0,
    // A filter of usage may name a key that does not exist.
    namesObject: pathFields.size > 0 || fields.some(({ name }) => name.endsWith('_id') && name !== 'key_id'),
    hasIdempotencyKey: idempotent.has(operation) || fields.some(({ name }) => name === 'idempotency_key'),
    error: restForms[fullName(method)]?.error,
    comments: [
      ...[method.parent, method, ...fields, ...inBody].map(commentOf),
      ...(restForms[fullName(method)]?.codes ?? []).map((code) => `\`${code}\``),
    ].join('\n'),
  };
}

/** Adds the messages to which the schemas of an operation refer. */
export function addMessages(
  method: DescMethod,
  components: Components,
  find: (name: string) => DescMessage,
): void {
  const { body } = httpRule(method);
  const { requestBody: givenBody, content, messages = [] } = restForms[fullName(method)] ?? {};
  const { input } = method;
  if (body !== '' && givenBody === undefined) {
    const fields = body === '*' ? objectShape(input).fields : [fieldNamed(input, body)];
    const isStrict = strict.has(operationOf(method));
    for (const { message } of fields) if (message !== undefined) components.add(message, 'request', isStrict);
    if (isWhole(method)) components.add(input, 'request', isStrict);
  }
  if (content === undefined) components.add(responseMessage(method), 'response');
  for (const name of messages) components.add(find(name), 'response');
}

export function fullName(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`;
}

/** The id of an operation. SDK generators name functions by it, so it never changes. */
function operationId({ localName, name, parent }: DescMethod): string {
  return packageWord(parent.typeName) === 'admin' ? `admin${capitalised(name)}` : localName;
}

/** Name such as `Chat`, for `parley.chat.v1.ChatService`. */
export function tagOf({ name }: { readonly name: string }): string {
  return name.replace(/Service$/, '');
}

function restPath(method: DescMethod): string {
  const { path, pathFields } = httpRule(method);
  const named = path.replace(
    /:(\w+)|\*/g,
    (found, name: string | undefined) => `{${pathFields.get(name ?? found)}}`,
  );
  if (!named.startsWith(`${basePath}/`)) throw new Error(`${method} is not under ${basePath}`);
  return named.slice(basePath.length);
}

/** The first sentence of the comment is the title. */
function titleOf(method: DescMethod): JsonObject {
  const comment = commentOf(method);
  const [, first = '', rest = ''] = /^(.+?[^.]\.)(?:\s+|$)(.*)$/s.exec(comment) ?? [];
  if (first === '') throw new Error(`${method} has no comment: its REST path needs one.`);
  return { summary: first.slice(0, -1), ...(rest !== '' && { description: rest }) };
}

function parameter(
  components: Components,
  field: DescField,
  place: 'path' | 'query',
  { parameters: own = {} }: RestForm = {},
): JsonObject {
  const schema = { ...components.value(field, 'request'), ...own[field.name] };
  const description = commentOf(field);
  const example = fieldExample(field);
  return {
    name: field.jsonName,
    in: place,
    ...((place === 'path' || isRequired(field, 'request')) && { required: true }),
    ...(description !== '' && { description }),
    schema,
    ...(place === 'path' && example !== undefined && { example }),
  };
}

/** Whether the request message itself is the body: the path contains none of its fields. */
function isWhole(method: DescMethod): boolean {
  const { body, pathFields } = httpRule(method);
  return body === '*' && pathFields.size === 0;
}

function requestBody(
  components: Components,
  method: DescMethod,
  others: readonly DescField[],
  kind: Operation,
): JsonObject {
  const { body } = httpRule(method);
  const { input } = method;
  const message = body === '*' ? input : messageOf(fieldNamed(input, body));
  const fields = body === '*' ? others : objectShape(message).fields;
  const inline = components.object(message, fields, 'request');
  const required = Array.isArray(inline['required']) ? inline['required'].map(String) : [];
  const isReference = body !== '*' || (isWhole(method) && !strict.has(kind));
  const schema = isReference
    ? components.ref(message, 'request')
    : { ...inline, ...(strict.has(kind) && { additionalProperties: false }) };
  const example = requestExample(message, fields, required);
  return {
    ...(required.length > 0 && { required: true }),
    content: { 'application/json': { schema, example } },
  };
}

function successResponse(
  components: Components,
  method: DescMethod,
  { content, moreContent }: RestForm,
  kind: Operation,
): JsonObject {
  const headers = [
    'x-request-id',
    ...(idempotent.has(kind) ? ['idempotent-replayed'] : []),
    ...(kind === 'chat' ? ['x-parley-model'] : []),
  ];
  return {
    description: 'The answer.',
    headers: Object.fromEntries(headers.map((name) => [name, headerRef(name)])),
    content: { ...(content ?? jsonContent(components, responseMessage(method))), ...moreContent },
  };
}

function jsonContent(components: Components, message: DescMessage): JsonObject {
  const example: JsonValue = responseExample(message);
  return { 'application/json': { schema: components.ref(message, 'response'), example } };
}

function responseMessage(method: DescMethod): DescMessage {
  const { responseBody } = httpRule(method);
  return responseBody === '' ? method.output : messageOf(fieldNamed(method.output, responseBody));
}

function fieldNamed(message: DescMessage, name: string): DescField {
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`${message.typeName} has no field ${name}`);
  return field;
}

function messageOf(field: DescField): DescMessage {
  if (field.message === undefined) throw new Error(`${field} is not a message`);
  return field.message;
}

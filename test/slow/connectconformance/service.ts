/** The service of the official Connect conformance suite, as open RPCs of Parley's transports. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescMessage, type FileRegistry, type Message } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { ParleyError } from '../../../src/core/values/errors.ts';
import type { AnyMethod, OpenRpc } from '../../../src/transports/rpc/open-rpcs.ts';

export interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

/** An error as the suite requests it. Parley has fewer codes, and other details. */
interface WantedError {
  readonly code: number;
  readonly message?: string;
  readonly details: readonly Any[];
}

/** The answer that the suite requests. A single message has `response`, a stream `responseData` and `error`. */
interface Definition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly response?: { readonly case?: string; readonly value?: unknown };
  readonly responseData?: readonly Uint8Array[];
  readonly error?: WantedError;
}

interface SuiteRequest {
  readonly responseDefinition?: Definition;
  readonly fullDuplex?: boolean;
}

/** A running call, with more than Parley's own functions receive and return. */
export interface SuiteCall {
  readonly headers: IncomingHttpHeaders;
  definition?: Definition | undefined;
  error?: WantedError;
}

export const calls = new AsyncLocalStorage<SuiteCall>();

const packageName = 'connectrpc.conformance.v1';
const payloadType = `${packageName}.ConformancePayload`;

export function suiteRpcs(registry: FileRegistry, requestBytesMax: number): OpenRpc[] {
  const service = registry.getService(`${packageName}.ConformanceService`);
  const methods = service?.methods.filter(({ name }) => name !== 'Unimplemented') ?? [];
  return methods.map((method) => {
    const suite = new Suite(registry, method);
    const isStream = method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming';
    return {
      kind: 'open',
      method,
      requestBytesMax,
      run: (requests) => (isStream ? suite.stream(requests) : suite.answer(requests)),
    };
  });
}

class Suite {
  readonly #registry: FileRegistry;
  readonly #method: AnyMethod;

  constructor(registry: FileRegistry, method: AnyMethod) {
    this.#registry = registry;
    this.#method = method;
  }

  async *answer(requests: AsyncIterable<Message>): AsyncGenerator<Message> {
    const call = callNow();
    const sent: Message[] = [];
    for await (const request of requests) sent.push(request);
    const [first] = sent as SuiteRequest[];
    call.definition = first?.responseDefinition;
    await delay(call);
    const { response } = call.definition ?? {};
    if (response?.case === 'error') throw this.#errorOf(call, response.value as WantedError, sent);
    yield this.#payload(response?.value as Uint8Array | undefined, this.#callInfo(call, sent));
  }

  /** In full duplex each request is answered at once. Otherwise all requests come first. */
  async *stream(requests: AsyncIterable<Message>): AsyncGenerator<Message> {
    const call = callNow();
    let isFullDuplex = false;
    let unreported: Message[] = [];
    let answers = 0;
    const answer = async (data: Uint8Array) => {
      await delay(call);
      const info = answers++ === 0 ? this.#callInfo(call, unreported) : this.#info({}, unreported);
      unreported = [];
      return this.#payload(data, info);
    };
    for await (const request of requests) {
      const { responseDefinition, fullDuplex = false } = request as SuiteRequest & Message;
      call.definition ??= responseDefinition;
      isFullDuplex ||= fullDuplex;
      unreported.push(request);
      const data = call.definition?.responseData?.[answers];
      if (isFullDuplex && data === undefined) break;
      if (isFullDuplex && data) yield await answer(data);
    }
    const { responseData = [], error } = call.definition ?? {};
    for (const data of responseData.slice(answers)) yield await answer(data);
    if (error) throw this.#errorOf(call, error, answers === 0 ? unreported : undefined);
  }

  #payload(data: Uint8Array | undefined, requestInfo: Message): Message {
    const payload = this.#create(payloadType, { data: data ?? new Uint8Array(), requestInfo });
    return create(this.#method.output, { payload });
  }

  /** Headers, deadline and requests of the call, as the server received them. */
  #callInfo({ headers }: SuiteCall, sent: readonly Message[]): Message {
    const requestHeaders = Object.entries(headers)
      .filter(([name]) => !name.startsWith(':'))
      .map(([name, value]) => ({ name, value: Array.isArray(value) ? value : String(value).split(', ') }))
      .map((header) => this.#create(`${packageName}.Header`, header));
    const timeout = timeoutMs(headers);
    return this.#info({ requestHeaders, ...(timeout !== undefined && { timeoutMs: timeout }) }, sent);
  }

  #info(more: object, sent: readonly Message[]): Message {
    const requests = sent.map((request) => anyPack(this.#method.input, request));
    return this.#create(`${payloadType}.RequestInfo`, { ...more, requests });
  }

  /** @param sent data that no answer has reported yet; undefined if one has */
  #errorOf(call: SuiteCall, wanted: WantedError, sent: readonly Message[] | undefined): ParleyError {
    const info = sent && this.#callInfo(call, sent);
    const details = info ? [...wanted.details, anyPack(this.#desc(info.$typeName), info)] : wanted.details;
    call.error = { ...wanted, details };
    return new ParleyError('internal_error', { message: wanted.message ?? '' });
  }

  #create(typeName: string, init: Record<string, unknown>): Message {
    return create(this.#desc(typeName), init);
  }

  #desc(typeName: string): DescMessage {
    const desc = this.#registry.getMessage(typeName);
    if (desc === undefined) throw new Error(`the suite has no ${typeName}`);
    return desc;
  }
}

function callNow(): SuiteCall {
  const call = calls.getStore();
  if (call === undefined) throw new Error('a call reached the suite outside of its server');
  return call;
}

async function delay({ definition }: SuiteCall): Promise<void> {
  if (definition?.responseDelayMs) await sleep(definition.responseDelayMs);
}

const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

function timeoutMs(headers: IncomingHttpHeaders): bigint | undefined {
  const [, digits, unit = 'm'] =
    /^(\d+)([HMSmun])?$/.exec(String(headers['connect-timeout-ms'] ?? headers['grpc-timeout'])) ?? [];
  return digits === undefined ? undefined : BigInt(Math.floor(Number(digits) * (unitMs[unit] ?? 1)));
}

/** What the REST calls of all operations have in common. */
import type { JsonValue, Message } from '@bufbuild/protobuf';
import type { HttpAnswer, HttpCall } from './http-client.ts';

export type RestCall = Pick<HttpCall, 'method' | 'path' | 'body'> & { readonly contentType?: string };

/** The API's error. */
export interface ErrorMembers {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

/** What has come of an answer, and the error that a stream told on the way. */
export interface ReadAnswer {
  readonly messages: readonly Message[];
  readonly error?: ErrorMembers | undefined;
}

export function jsonOf({ body }: HttpAnswer): JsonValue {
  return JSON.parse(body.toString());
}

export function errorIn(answer: HttpAnswer): ErrorMembers {
  const { error } = jsonOf(answer) as unknown as { error: ErrorMembers };
  return error;
}

/** The description of the RPCs that `scripts/reference/rpcs.ts` writes. */

interface Field {
  readonly number: number;
  readonly name: string;
  readonly type: string;
  readonly message?: string;
  readonly oneof?: string;
  readonly comment: string;
}

export interface Message {
  readonly name: string;
  readonly comment: string;
  readonly fields: readonly Field[];
}

export interface Method {
  readonly name: string;
  readonly comment: string;
  readonly kind: 'unary' | 'server_streaming' | 'client_streaming' | 'bidi_streaming';
  readonly path: string;
  readonly input: string;
  readonly output: string;
  readonly rest?: string;
}

export interface Package {
  readonly name: string;
  readonly files: readonly string[];
  readonly service: { readonly name: string; readonly comment: string; readonly methods: readonly Method[] };
  readonly messages: readonly Message[];
}

export interface RpcDocument {
  readonly packages: readonly Package[];
}

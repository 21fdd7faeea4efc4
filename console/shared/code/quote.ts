/** Shared parts of all code samples: quoting, addresses, the first lines of clients. */

/** A JSON string, which TypeScript, Python and Go read alike. */
export const quoted = (text: string): string => JSON.stringify(text);

/** A word of a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const baseUrl = (): string => `${location.origin}/api/v1`;

const isSecure = () => location.protocol === 'https:';

/** Host and port. */
const target = () => (location.port === '' ? `${location.host}:${isSecure() ? 443 : 80}` : location.host);

/** Puts the lines of a call into a Go program, which ends at the first error. */
export function goProgram(service: string, imports: readonly string[], call: readonly string[]): string {
  const security = isSecure()
    ? 'grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{}))'
    : 'grpc.WithInsecure()';
  const standard = ['context', 'log', 'os', ...imports, ...(isSecure() ? ['crypto/tls'] : [])].sort();
  const grpc = ['grpc', ...(isSecure() ? ['grpc/credentials'] : []), 'grpc/metadata'];
  return [
    ...['package main', '', 'import ('],
    ...standard.map((name) => `\t${quoted(name)}`),
    '',
    ...grpc.map((name) => `\t${quoted(`google.golang.org/${name}`)}`),
    '',
    `\t${service}v1 ${quoted(`example.com/client/gen/parley/${service}/v1`)}`,
    ...[')', '', 'func check(err error) {', '\tif err != nil {', '\t\tlog.Fatal(err)', '\t}', '}', ''],
    'func main() {',
    `\tconn, err := grpc.Dial(${quoted(target())}, ${security})`,
    '\tcheck(err)',
    '\tctx := metadata.AppendToOutgoingContext(context.Background(),',
    '\t\t"authorization", "Bearer "+os.Getenv("PARLEY_API_KEY"))',
    ...call.map((line) => (line === '' ? '' : `\t${line}`)),
    '}',
  ].join('\n');
}

/**
 * Puts the lines of a call into a Python program.
 * @param schema such as `chat` in `chat_pb2`
 * @param stub such as `chat` in `chat_service_pb2_grpc`. Default: as the schema
 */
export function pythonProgram(
  service: string,
  schema: string,
  call: readonly string[],
  stub = schema,
): string {
  const channel = isSecure()
    ? `grpc.secure_channel(${quoted(target())}, grpc.ssl_channel_credentials())`
    : `grpc.insecure_channel(${quoted(target())})`;
  return [
    ...['import os', '', 'import grpc', ''],
    `from parley.${service}.v1 import ${schema}_pb2, ${stub}_service_pb2_grpc`,
    '',
    `channel = ${channel}`,
    'key = [("authorization", "Bearer " + os.environ["PARLEY_API_KEY"])]',
    ...call,
  ].join('\n');
}

/** The first lines of a program with an OpenAI SDK. */
export const openAiTypeScript = (): string[] => [
  'import OpenAI from "openai";',
  '',
  `const client = new OpenAI({ baseURL: ${quoted(baseUrl())}, apiKey: process.env.PARLEY_API_KEY });`,
];

export const openAiPython = (): string[] => [
  'import os',
  'from openai import OpenAI',
  '',
  `client = OpenAI(base_url=${quoted(baseUrl())}, api_key=os.environ["PARLEY_API_KEY"])`,
];

import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { CollectedBytes } from '../../core/collected-bytes.ts';
import { ParleyError } from '../../core/errors.ts';
import type { Exchange } from './exchange.ts';
import { boundedBody } from './request.ts';

const partsMax = 16;
const fieldBytesMax = 64 * 1024;
const fieldNameBytesMax = 100;
const boundaryCharactersMax = 70;

export interface Form {
  /** The file part named `file`; undefined where there is none. */
  readonly file: { readonly bytes: Uint8Array; readonly name: string } | undefined;
  /** Each field's values, in order. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads a form of at most `bytesMax` bytes, all parts and boundaries together. Its file is kept in memory, which the
 * limit bounds.
 * @throws what `tooLarge` makes; `invalid_request_error` for what is not well-formed multipart
 */
export async function readForm(
  exchange: Exchange,
  bytesMax: number,
  tooLarge: () => ParleyError,
): Promise<Form> {
  const parser = openParser(exchange);
  const fields = new Map<string, string[]>();
  let file: { content: CollectedBytes; name: string } | undefined;
  let fault: ParleyError | undefined;
  parser.on('field', (name, value, nameTruncated, valueTruncated) => {
    if (nameTruncated || valueTruncated)
      fault ??= malformed(`A form field is larger than ${fieldBytesMax} bytes.`);
    else fields.set(name, [...(fields.get(name) ?? []), value]);
  });
  parser.on('file', (name, stream, fileName) => {
    if (name !== 'file' || file !== undefined) {
      fault ??= malformed('Send one file, as the form field `file`.');
      stream.resume();
      return;
    }
    file = { content: new CollectedBytes(), name: fileName ?? '' };
    stream.on('data', (chunk: Buffer) => file?.content.add(chunk));
    // A form that ends inside the file also errors on the parser, which is what the caller hears of.
    stream.on('error', () => undefined);
  });
  parser.on('partsLimit', () => {
    fault ??= malformed(`The form has more than ${partsMax} parts.`);
  });
  await feed(parser, boundedBody(exchange, bytesMax, tooLarge));
  if (fault) throw fault;
  return { file: file && { bytes: file.content.bytes, name: file.name }, fields };
}

function openParser(exchange: Exchange): BusboyInstance {
  const { headers } = exchange.request;
  const contentType = headers['content-type'] ?? '';
  const boundary = /boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(contentType);
  const name = boundary?.[1] ?? boundary?.[2] ?? '';
  if (!/^multipart\/form-data\b/i.test(contentType) || name === '' || name.length > boundaryCharactersMax) {
    throw malformed(
      'Send the recording as multipart/form-data with a boundary, the file in the field `file`.',
    );
  }
  const limits = {
    parts: partsMax,
    fieldSize: fieldBytesMax,
    fieldNameSize: fieldNameBytesMax,
    files: partsMax,
  };
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': contentType } satisfies BusboyHeaders,
      limits,
    });
  } catch (cause) {
    throw malformed('The Content-Type of the form cannot be read.', cause);
  }
}

async function feed(parser: BusboyInstance, body: AsyncIterable<Buffer>): Promise<void> {
  try {
    await pipeline(body, parser);
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw malformed('The form is malformed or ends too early.', error);
  }
}

function malformed(message: string, cause?: unknown): ParleyError {
  return new ParleyError('invalid_request_error', { message, cause });
}

/** Writes a form with one file as a stream. FormData would copy the file whole. */
import { randomBytes } from 'node:crypto';

/** Bytes of the file in a piece. */
const sliceBytes = 64 * 1024;

export interface FormFile {
  /** Letters, digits, dots and hyphens only, as it is not escaped. */
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

export interface FormBody {
  /** Content-Type and Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, anew with each call. */
  pieces(): AsyncGenerator<Uint8Array>;
}

export type FormField = readonly [name: string, value: string];

/** The fields in order, then the file as the field `file`. Field names are not escaped. */
export function multipartForm(fields: readonly FormField[], file: FormFile): FormBody {
  // Random, so that no value can contain it.
  const boundary = `parley-${randomBytes(24).toString('hex')}`;
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  const texts = fields.map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`).join('');
  const fileHead = `${part(`name="file"; filename="${file.name}"`)}Content-Type: ${file.contentType}\r\n\r\n`;
  const head = Buffer.from(texts + fileHead);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + file.bytes.length + tail.length),
    },
    async *pieces() {
      yield head;
      for (let at = 0; at < file.bytes.length; at += sliceBytes)
        yield file.bytes.subarray(at, at + sliceBytes);
      yield tail;
    },
  };
}

/** Decompresses the bodies of requests (RFC 9110, 8.4), and the messages in them. */
import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { ParleyError } from '../core/values/errors.ts';
import { quote } from '../core/values/quote.ts';
import { bytesUnpacked, compressionMax } from './byte-budget.ts';

type Unpack = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;
/**
 * @throws the error of `tooLarge` if the bytes unpack to more than `bytesMax`; `payload_too_large` beyond the ratio that is counted
 * with; `invalid_request_error` if they are malformed
 */
export type Decompress = (bytes: Buffer, bytesMax: number, tooLarge: () => ParleyError) => Promise<Buffer>;

const [unzip, unwrap, unwrapRaw] = [promisify(gunzip), promisify(inflate), promisify(inflateRaw)];
const unzstd = promisify(zstdDecompress);
/** 8 MiB (RFC 9659). A frame may ask for 128. */
const zstdParameters = { [constants.ZSTD_d_windowLogMax]: 23 };
/** By the first byte. Some clients send `deflate` without the zlib format around it. */
const isZlib = ([first = 0]: Buffer) => (first & 0x0f) === 8;

const encodings: Readonly<Record<string, Unpack>> = {
  gzip: unzip,
  'x-gzip': unzip,
  deflate: (bytes, options) => (isZlib(bytes) ? unwrap : unwrapRaw)(bytes, options),
  br: promisify(brotliDecompress),
  zstd: (bytes, options) => unzstd(bytes, { ...options, params: zstdParameters }),
};

/**
 * @param header the request's Content-Encoding, or the header of this name
 * @returns undefined for a body that is not compressed
 * @throws `invalid_request_error` with the status 415 for any other encoding
 */
export function decompression(header = 'identity', headerName = 'Content-Encoding'): Decompress | undefined {
  const name = header.trim().toLowerCase();
  if (name === 'identity' || name === '') return undefined;
  const unpack = Object.hasOwn(encodings, name) ? encodings[name] : undefined;
  if (unpack === undefined) {
    const message = `The body has the Content-Encoding ${quote(header)}. Use one of gzip, deflate, br and zstd, or none.`;
    throw new ParleyError('invalid_request_error', { httpStatus: 415, message });
  }
  return async (bytes, bytesMax, tooLarge) => {
    const maxOutputLength = bytesUnpacked(bytes.length, bytesMax);
    try {
      return bytes.length === 0 ? bytes : await unpack(bytes, { maxOutputLength });
    } catch (cause) {
      const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      if (isTooLarge) throw maxOutputLength < bytesMax ? tooDense() : tooLarge();
      const message = `The body is not whole, or not in its ${headerName}, ${name}.`;
      throw new ParleyError('invalid_request_error', { message, cause });
    }
  };
}

function tooDense(): ParleyError {
  return new ParleyError('payload_too_large', {
    message: `The body unpacks to more than ${compressionMax} times its bytes. Send it without compression.`,
  });
}

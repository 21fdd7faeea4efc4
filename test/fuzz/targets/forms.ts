import { ParleyError } from '../../../src/core/values/errors.ts';
import { boundaryOf, parseForm } from '../../../src/transports/rest/multipart.ts';
import type { FuzzTarget } from '../target.ts';

const used = new Map([
  ['model', 64],
  ['prompt', 64],
]);

/** The Content-Type, a line end, the body. */
export const forms: FuzzTarget = {
  seeds: [
    'multipart/form-data; boundary=b\n--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nx\r\n--b--\r\n',
    'multipart/form-data; boundary="b c"\n--b c\r\nContent-Disposition: form-data; name="file"; filename*=UTF-8\'\'a%20b.wav\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--b c\r\n\r\n\r\n--b c--',
  ],
  words: [
    '\r\n',
    '--b',
    '--b--',
    '--b\r\n',
    'name="',
    'filename="',
    "filename*=UTF-8''%",
    'boundary=',
    '\\"',
    ';',
    'Content-Disposition: form-data; name=file',
  ],
  open: () => ({
    read(input) {
      const end = Math.max(0, input.indexOf(0x0a));
      try {
        const { file, fields } = parseForm(
          input.subarray(end + 1),
          boundaryOf(input.toString('latin1', 0, end)),
          used,
        );
        if (file !== undefined && file.bytes.length > input.length)
          throw new Error('a file has more bytes than its form');
        for (const [name, values] of fields) {
          const bytes = Math.max(...values.map((value) => Buffer.byteLength(value)));
          // Each byte that is not UTF-8 becomes a character of three bytes.
          if (bytes > 3 * (used.get(name) ?? 0)) throw new Error(`${name} has ${bytes} bytes`);
        }
      } catch (error) {
        if (!(error instanceof ParleyError) || error.httpStatus !== 400) throw error;
      }
    },
  }),
};

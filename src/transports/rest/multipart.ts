/** Reads the parts of a multipart form (RFC 7578), whose whole body is there. */
import { listValuesMax, tooManyValues } from '../../core/transcription/service.ts';
import { ParleyError } from '../../core/values/errors.ts';

/** RFC 2046, 5.1.1. */
const boundaryCharactersMax = 70;
/** Bounds the time that a form takes. Clients send some fifty parts; a long list and the other fields fit. */
const partsMax = listValuesMax + 100;
const partHeaderBytesMax = 16 * 1024;
/** Clients send `name`, `filename` and `filename*`. */
const parametersMax = 32;

export interface Form {
  /** The file part named `file`; undefined if there is none. Its bytes share the memory of the body. */
  readonly file: { readonly bytes: Uint8Array; readonly name: string } | undefined;
  /** Each used field's values, in order. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

/** @throws `invalid_request_error` if the header does not name a form with a boundary */
export function boundaryOf(contentType: string): string {
  const [, parameters] = /^multipart\/form-data\s*(;.*)$/i.exec(contentType) ?? [];
  const boundary = readParameters(parameters ?? '')?.get('boundary') ?? '';
  if (boundary !== '' && boundary.length <= boundaryCharactersMax) return boundary;
  throw malformed('Send the recording as multipart/form-data with a boundary, the file in the field `file`.');
}

/**
 * @param used the fields in use, with the maximum bytes of each. All others are skipped
 * @throws `invalid_request_error` for a malformed form, or a file under another name than `file`; `invalid_input` for too long a list
 */
export function parseForm(body: Buffer, boundary: string, used: ReadonlyMap<string, number>): Form {
  const fields = new Map<string, string[]>();
  let file: Form['file'];
  for (const { name: written, fileName, content } of readParts(body, boundary)) {
    if (written === undefined) continue;
    // Some clients number the values of a list: `languages[0]`.
    const name = written.replace(/\[\d+\]$/, '[]');
    if (fileName !== undefined) {
      if (name !== 'file' || file !== undefined) throw malformed('Send one file, as the form field `file`.');
      file = { bytes: content, name: fileName };
    } else if (used.has(name)) {
      const bytesMax = used.get(name) ?? 0;
      if (content.length > bytesMax) {
        throw malformed(`The form field \`${name}\` is larger than ${bytesMax} bytes.`);
      }
      const values = fields.get(name);
      if (values?.length === listValuesMax) throw tooManyValues(name.replace('[]', ''));
      if (values) values.push(content.toString());
      else fields.set(name, [content.toString()]);
    }
  }
  return { file, fields };
}

interface Part {
  /** Undefined for a part that is not a form field. */
  readonly name: string | undefined;
  /** Undefined for a part that is not a file; empty for a file without a name. */
  readonly fileName: string | undefined;
  readonly content: Buffer;
}

const ascii = { tab: 0x09, lf: 0x0a, cr: 0x0d, space: 0x20, hyphen: 0x2d } as const;
const lineEnd = Buffer.from('\r\n');
const blankLine = Buffer.from('\r\n\r\n');

/** Yields the parts in order. Ignores anything before the first boundary and after the last. */
function* readParts(body: Buffer, boundary: string): Generator<Part> {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  let found = firstDelimiter(body, delimiter);
  for (let parts = 0; !found.isLast; parts++) {
    if (parts === partsMax) throw malformed(`The form has more than ${partsMax} parts.`);
    const next = nextDelimiter(body, delimiter, found.end);
    yield readPart(body.subarray(found.end, next.start));
    found = next;
  }
}

/** The place of a delimiter, from its line break to the end of its line. */
interface Delimiter {
  readonly start: number;
  readonly end: number;
  readonly isLast: boolean;
}

/** The first one needs no line break before it. */
function firstDelimiter(body: Buffer, delimiter: Buffer): Delimiter {
  const withoutBreak = delimiter.subarray(lineEnd.length);
  const isFirstLine = body.subarray(0, withoutBreak.length).equals(withoutBreak);
  return (isFirstLine && readDelimiter(body, 0, withoutBreak.length)) || nextDelimiter(body, delimiter, 0);
}

function nextDelimiter(body: Buffer, delimiter: Buffer, from: number): Delimiter {
  let start = body.indexOf(delimiter, from);
  while (start >= 0) {
    const found = readDelimiter(body, start, start + delimiter.length);
    if (found) return found;
    start = body.indexOf(delimiter, start + lineEnd.length);
  }
  throw malformed('The form ends before its closing boundary, or its lines do not end in CRLF.');
}

/** Undefined if the line continues after the boundary: then the line belongs to the content of a part. */
function readDelimiter(body: Buffer, start: number, boundaryEnd: number): Delimiter | undefined {
  let end = boundaryEnd;
  if (body[end] === ascii.hyphen && body[end + 1] === ascii.hyphen) return { start, end, isLast: true };
  while (body[end] === ascii.space || body[end] === ascii.tab) end++;
  if (body[end] !== ascii.cr || body[end + 1] !== ascii.lf) return undefined;
  return { start, end: end + lineEnd.length, isLast: false };
}

function readPart(part: Buffer): Part {
  if (part.subarray(0, lineEnd.length).equals(lineEnd)) {
    return { name: undefined, fileName: undefined, content: part.subarray(lineEnd.length) };
  }
  const headerEnd = part.subarray(0, partHeaderBytesMax + blankLine.length).indexOf(blankLine);
  if (headerEnd < 0) {
    throw malformed(
      `A part of the form has more than ${partHeaderBytesMax} bytes of headers, or no blank line after them.`,
    );
  }
  const header = part.toString('utf8', 0, headerEnd).replace(/\r\n[ \t]+/g, ' ');
  return { ...readHeader(header), content: part.subarray(headerEnd + blankLine.length) };
}

/** The type of a part that is a file even without a name. */
const mediaType = /^content-type:[ \t]*(audio\/|video\/|application\/(octet-stream|ogg)\b)/im;

function readHeader(header: string): Pick<Part, 'name' | 'fileName'> {
  const [, disposition] = /^content-disposition:[ \t]*form-data[ \t]*(.*)$/im.exec(header) ?? [];
  if (disposition === undefined) return { name: undefined, fileName: undefined };
  const parameters = readParameters(disposition);
  if (parameters === undefined) {
    throw malformed(
      'The Content-Disposition of a part cannot be read. Write quotes in a name as `%22` or `\\"`.',
    );
  }
  const isFile = ['filename', 'filename*'].some((key) => parameters.has(key)) || mediaType.test(header);
  const fileName = decodeExtended(parameters.get('filename*')) ?? parameters.get('filename') ?? '';
  return { name: parameters.get('name'), fileName: isFile ? withoutFolder(fileName) : undefined };
}

/** `; name="a"; filename=b` as a map with names in lower case; undefined if it is malformed, or has too many. */
function readParameters(text: string): ReadonlyMap<string, string> | undefined {
  const parameter = /\s*;\s*(?:([^=;\s"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*)))?/y;
  const parameters = new Map<string, string>();
  const length = text.trimEnd().length;
  for (let end = 0, read = 0; end < length; end = parameter.lastIndex, read++) {
    const match = parameter.exec(text);
    if (match === null || read === parametersMax) return undefined;
    const [, name, quoted, token] = match;
    if (name !== undefined)
      parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, '$1') ?? token ?? '');
  }
  return parameters;
}

/** `UTF-8''na%C3%AFve.wav` (RFC 8187), which some clients send for names beyond ASCII. RFC 5987 also had ISO-8859-1. */
function decodeExtended(value: string | undefined): string | undefined {
  const [, charset, encoded] = /^(utf-8|iso-8859-1)'[^']*'(.*)$/i.exec(value ?? '') ?? [];
  try {
    return (
      encoded && (charset?.toLowerCase() === 'utf-8' ? decodeURIComponent(encoded) : decodeLatin1(encoded))
    );
  } catch {
    return undefined;
  }
}

function decodeLatin1(encoded: string): string {
  return encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function withoutFolder(fileName: string): string {
  return fileName.slice(Math.max(fileName.lastIndexOf('/'), fileName.lastIndexOf('\\')) + 1);
}

function malformed(message: string): ParleyError {
  return new ParleyError('invalid_request_error', { message });
}

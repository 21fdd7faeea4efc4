/** The most tokens of an image, by its size in pixels and the rules that providers publish. */

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Gemini 3 counts as many for an image of any size. */
const leastTokens = 1_120;
/** Pixtral's squares, up to its largest image. They cover the tiles of OpenAI, InternVL and Llama, which are at most as many. */
const fine = { pixels: 16, tokensMax: 4_160 };
/** Squares of Qwen, GLM, Kimi and Mistral, up to the largest image that Qwen's processors take by default. */
const wide = { pixels: 28, tokensMax: 16_384 };

/** For an image whose size is unknown. */
export const imageTokensDefault = wide.tokensMax;

/** Enough for the metadata before the size of a JPEG. */
const headLetters = 512 * 1024;
const isBase64 = /^data:[^,]{0,200};base64,/i;

/** The most tokens of the image in a `data:` URL; undefined if its size is unknown. */
export function imageTokens(url: string): number | undefined {
  const start = isBase64.exec(url)?.[0].length;
  if (start === undefined) return undefined;
  const size = sizeOf(Buffer.from(url.slice(start, start + headLetters), 'base64'));
  if (size === undefined || size.width === 0 || size.height === 0) return undefined;
  return Math.max(leastTokens, squares(size, fine), squares(size, wide));
}

function squares({ width, height }: Size, { pixels, tokensMax }: typeof fine): number {
  // Servers add a few tokens for the ends of rows and of the image.
  const rows = Math.ceil(height / pixels);
  return Math.min(tokensMax, Math.ceil(width / pixels) * rows + rows + 2);
}

/** A GIF says nothing certain at its beginning, as its first frame may be larger than its screen. */
function sizeOf(head: Buffer): Size | undefined {
  if (head.length < 30) return undefined;
  const form = head.toString('latin1', 0, 16);
  if (form.startsWith('\x89PNG\r\n\x1a\n') && form.endsWith('IHDR'))
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  if (form.startsWith('\xff\xd8')) return sizeOfJpeg(head);
  return /^RIFF.{4}WEBP/s.test(form) ? sizeOfWebp(head, form.slice(12)) : undefined;
}

/** Reads the first start of a frame. */
function sizeOfJpeg(head: Buffer): Size | undefined {
  for (let at = 2; at + 9 <= head.length; ) {
    if (head[at] !== 0xff) return undefined;
    const marker = head[at + 1] ?? 0;
    // A marker may have any number of fill bytes before it.
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    at += 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}

function sizeOfWebp(head: Buffer, chunk: string): Size | undefined {
  if (chunk === 'VP8 ')
    return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  if (chunk === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (chunk !== 'VP8L') return undefined;
  const bits = head.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

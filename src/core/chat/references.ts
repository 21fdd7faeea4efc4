/** Content of a prompt that may have more tokens than its bytes: an image, a file, the web. */
import type { JsonValue } from '@bufbuild/protobuf';
import type { ChatCompletionParams, ChatMessage, ContentPart } from '../../../gen/parley/chat/v1/chat_pb.ts';

/** Types of content parts whose tokens are all in the request. */
const textTypes: ReadonlySet<string> = new Set(['text', 'refusal']);
/** Unknown members of a message that are text inside objects. */
const textMembers: ReadonlySet<string> = new Set([
  'reasoning_details',
  'thinking_blocks',
  'extra_content',
  'function_call',
  'annotations',
  'cache_control',
]);
/** Members of a request to vLLM that may change how many tokens an image has. */
const scalingMembers = ['mm_processor_kwargs', 'media_io_kwargs'];
const toolTypes: ReadonlySet<string> = new Set(['function', 'custom']);

export interface Reference {
  /** The most tokens of the content; Infinity for anything but an image. */
  readonly tokens: number;
  /** Bytes of the request in place of which these tokens are counted. */
  readonly bytes: number;
}

/**
 * Everything that a prompt refers to.
 * @param least what the model's operator says that an image may have, whatever its size. Default: only what the size tells
 */
export function referencesOf(params: ChatCompletionParams, least?: number): Reference[] {
  const unsized = least ?? imageTokensDefault;
  const images = params.messages.flatMap(imagesOf).map(({ url = '' }) => {
    if (!/^data:/i.test(url)) return { tokens: unsized, bytes: 0 };
    // Some servers take documents in place of an image.
    if (!/^data:image\//i.test(url)) return { tokens: Infinity, bytes: 0 };
    return { tokens: Math.max(imageTokens(url) ?? unsized, least ?? 0), bytes: url.length };
  });
  const isScaled = images.length > 0 && scalingMembers.some((name) => isFilled(params.other?.[name]));
  return isScaled || refersElsewhere(params) ? [...images, { tokens: Infinity, bytes: 0 }] : images;
}

/** The same prompt without the data of its images. */
export function withoutImages(params: ChatCompletionParams): ChatCompletionParams {
  const messages = params.messages.map((message) => {
    const { content } = message;
    if (content?.value.case !== 'parts' || imagesOf(message).length === 0) return message;
    const parts = content.value.value;
    const items = parts.items.map((part) => (part.imageUrl ? { ...part, imageUrl: undefined } : part));
    return {
      ...message,
      content: { ...content, value: { case: 'parts' as const, value: { ...parts, items } } },
    };
  });
  return { ...params, messages };
}

function imagesOf({ content }: ChatMessage) {
  if (content?.value.case !== 'parts') return [];
  return content.value.value.items.flatMap(({ imageUrl }) => imageUrl ?? []);
}

function refersElsewhere(params: ChatCompletionParams): boolean {
  const { messages, tools, webSearchOptions, other = {} } = params;
  return (
    webSearchOptions !== undefined ||
    // Tools of a form that the schema does not have.
    isFilled(other['tools']) ||
    isFilled(other['web_search_options']) ||
    tools.some(({ type }) => type !== undefined && !toolTypes.has(type)) ||
    messages.some(isReferring)
  );
}

function isReferring({ content, audio, other = {} }: ChatMessage): boolean {
  if (audio !== undefined) return true;
  if (content?.value.case === 'parts' && content.value.value.items.some(isReference)) return true;
  return Object.entries(other).some(
    ([name, value]) =>
      typeof value === 'object' && value !== null && !JSON.isRawJSON(value) && !textMembers.has(name),
  );
}

function isFilled(value: JsonValue | undefined): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Anything but plain text and images may be one, as some servers look at the members of a part, not at its type. */
function isReference({ type, imageUrl, inputAudio, file, other = {} }: ContentPart): boolean {
  return (
    inputAudio !== undefined ||
    file !== undefined ||
    (type !== undefined && !textTypes.has(type) && !(imageUrl && type === 'image_url')) ||
    // Members of an image, such as `max_pixels`, may change its tokens.
    [other, imageUrl?.other ?? {}].some((members) => Object.entries(members).some(isMember))
  );
}

function isMember([name, value]: [string, JsonValue]): boolean {
  return value !== null && name !== 'cache_control' && name !== 'citations';
}

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
const imageTokensDefault = wide.tokensMax;

/** Enough for the metadata before the size of a JPEG. */
const headLetters = 512 * 1024;
const isBase64 = /^data:[^,]{0,200};base64,/i;

/**
 * The most tokens of the image in a `data:` URL, by its size in pixels and the rules that providers publish. Undefined if
 * its size is unknown.
 */
function imageTokens(url: string): number | undefined {
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

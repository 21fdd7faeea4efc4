/** Content of a prompt that may have more tokens than its bytes: an image, a file, the web. */
import type { JsonValue } from '@bufbuild/protobuf';
import type { ChatCompletionParams, ChatMessage, ContentPart } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { imageTokens, imageTokensDefault } from './image-tokens.ts';

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

/** Whether a prompt may have more tokens than its bytes, because it refers to other content: an image, a file, the web. */
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
const toolTypes: ReadonlySet<string> = new Set(['function', 'custom']);

export function refersElsewhere(params: ChatCompletionParams): boolean {
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

/** Anything but plain text may be a reference, as some servers look at the members of a part, not at its type. */
function isReference({ type, imageUrl, inputAudio, file, other = {} }: ContentPart): boolean {
  return (
    imageUrl !== undefined ||
    inputAudio !== undefined ||
    file !== undefined ||
    (type !== undefined && !textTypes.has(type)) ||
    Object.values(other).some((value) => value !== null)
  );
}

/** The `data` of server-sent events, each as its text, from the bytes of an answer. Other fields mean nothing here. */
export async function* sseData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let unread = '';
  let data: string[] = [];
  for await (const part of body) {
    unread += decoder.decode(part, { stream: true });
    const lines = unread.split(/\r?\n/);
    unread = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '' && data.length > 0) yield data.join('\n');
      if (line === '') data = [];
      else if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
    }
  }
}

/** The three calls of Parley that the notes make. */

interface Models {
  readonly hears: string;
  readonly thinks: string;
  readonly speaks: string;
  readonly voice: string;
}

const recordingBytesMax = 25_000_000;
/** Parley speaks 4,000 characters at a time: the parts of a longer note end between words if they can. */
const speechParts = /.{1,4000}(?=\s|$)|.{1,4000}/gsu;
const instructions = 'Summarise the note in one or two short sentences.';

const models = (await (await fetch('/models')).json()) as Models;

export async function transcribe(recording: Blob): Promise<string> {
  if (recording.size > recordingBytesMax) throw new Error('Choose a recording of at most 25 MB.');
  const form = new FormData();
  form.append('model', models.hears);
  form.append('file', recording, 'note');
  const { text } = (await (await post('/audio/transcriptions', form)).json()) as { text: string };
  if (text.trim() === '') throw new Error('No words were heard. Record again.');
  return text.trim();
}

export async function speak(text: string): Promise<Blob> {
  const { speaks: model, voice } = models;
  const parts: Blob[] = [];
  for (const [input] of text.matchAll(speechParts)) {
    parts.push(await (await post('/audio/speech', JSON.stringify({ model, voice, input }))).blob());
  }
  // MP3 files that follow each other play as one.
  return new Blob(parts, { type: 'audio/mpeg' });
}

export async function summarise(text: string): Promise<string> {
  const messages = [
    { role: 'system', content: instructions },
    { role: 'user', content: text },
  ];
  const answer = await post('/chat/completions', JSON.stringify({ model: models.thinks, messages }));
  const { choices } = (await answer.json()) as { choices: { message: { content: string | null } }[] };
  const summary = choices[0]?.message.content;
  if (!summary) throw new Error('The model gave no summary. Try again.');
  return summary;
}

async function post(path: string, body: FormData | string): Promise<Response> {
  const headers: HeadersInit = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
  const answer = await fetch(path, { method: 'POST', body, headers });
  if (answer.ok) return answer;
  const { error } = (await answer.json()) as { error: { message: string } };
  throw new Error(error.message);
}

/** The page: records notes and keeps them in this browser. */
import { speak, summarise, transcribe } from './calls.ts';

interface Note {
  readonly id: string;
  /** In the form of ISO 8601. */
  readonly at: string;
  readonly text: string;
  readonly summary?: string;
}

const store = 'parley-notes';
const recordButton = find('record', HTMLButtonElement);
const fileInput = find('file', HTMLInputElement);
const player = new Audio();
player.controls = true;
let recorder: MediaRecorder | undefined;

function find<T extends HTMLElement>(id: string, type: new () => T): T {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`the page has no ${id}`);
}

function load(): Note[] {
  return JSON.parse(localStorage.getItem(store) ?? '[]') as Note[];
}

/** Reads the notes again before each change, as another tab may have changed them. */
function change(edit: (notes: Note[]) => Note[]): void {
  localStorage.setItem(store, JSON.stringify(edit(load())));
  show();
}

/** Runs `work`, with what is done in the status, and its problem in the alert. */
async function attempt(what: string, work: () => Promise<void>): Promise<void> {
  const [status, alert] = [find('status', HTMLParagraphElement), find('alert', HTMLParagraphElement)];
  status.textContent = what;
  alert.textContent = '';
  try {
    await work();
  } catch (error) {
    alert.textContent = error instanceof Error ? error.message : String(error);
  }
  status.textContent = '';
}

async function add(recording: Blob): Promise<void> {
  const text = await transcribe(recording);
  const note: Note = { id: crypto.randomUUID(), at: new Date().toISOString(), text };
  change((notes) => [note, ...notes]);
}

async function record(): Promise<void> {
  if (recorder) return recorder.stop();
  if (!navigator.mediaDevices) throw new Error('To record, open this page over HTTPS.');
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(() => {
    throw new Error('Allow this page to use the microphone, or connect one.');
  });
  recorder = new MediaRecorder(stream);
  recorder.ondataavailable = ({ data }) => {
    for (const track of stream.getTracks()) track.stop();
    recorder = undefined;
    recordButton.textContent = 'Record';
    void attempt('Transcribing …', () => add(data));
  };
  recorder.start();
  recordButton.textContent = 'Stop';
}

async function read({ text }: Note): Promise<void> {
  URL.revokeObjectURL(player.src);
  player.src = URL.createObjectURL(await speak(text));
  find('alert', HTMLParagraphElement).after(player);
  // A browser that does not allow this leaves the player for the person to start.
  await player.play().catch(() => undefined);
}

async function addSummary({ id, text }: Note): Promise<void> {
  const summary = await summarise(text);
  change((notes) => notes.map((note) => (note.id === id ? { ...note, summary } : note)));
}

function show(): void {
  find('notes', HTMLElement).replaceChildren(...load().map(draw));
}

function draw(note: Note): HTMLElement {
  const article = document.createElement('article');
  for (const text of [new Date(note.at).toLocaleString(), note.text, note.summary]) {
    if (text !== undefined) article.appendChild(document.createElement('p')).textContent = text;
  }
  const button = (name: string, action: () => void) => {
    const made = article.appendChild(document.createElement('button'));
    made.textContent = name;
    made.onclick = action;
  };
  button('Read aloud', () => void attempt('Speaking …', () => read(note)));
  button('Summarise', () => void attempt('Summarising …', () => addSummary(note)));
  button('Delete', () => change((notes) => notes.filter(({ id }) => id !== note.id)));
  return article;
}

recordButton.onclick = async () => {
  recordButton.disabled = true;
  await attempt('', record);
  recordButton.disabled = false;
};
fileInput.onchange = async () => {
  const [file] = fileInput.files ?? [];
  if (file) await attempt('Transcribing …', () => add(file));
  fileInput.value = '';
};
addEventListener('storage', show);
show();

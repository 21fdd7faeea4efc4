/** Speech: a text, spoken by any voice of any model. */
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { speechCode } from '../../shared/code/audio-code.ts';
import { isAborted, problemOf } from '../api.ts';
import { save } from '../csv.ts';
import { Choice } from '../fields.tsx';
import { durationText, wholeText } from '../format.tsx';
import { AsCode } from './as-code.tsx';
import { type PlayClients, PlayContext } from './clients.ts';
import { Player } from './player.tsx';

const formats = ['mp3', 'wav', 'flac', 'opus'] as const;
const charactersMax = 4_000;

interface Spoken {
  readonly audio: Blob;
  readonly voice: string;
  readonly fileName: string;
  readonly firstMs: number;
  readonly wholeMs: number;
}

export function SpeechPanel({ models }: { readonly models: readonly Model[] }) {
  const [id, setId] = useState(models[0]?.id ?? '');
  const model = models.find((one) => one.id === id);
  const [voice, setVoice] = useState(models[0]?.defaultVoice ?? '');
  const [format, setFormat] = useState<string>(formats[0]);
  const [text, setText] = useState('Hello. This is the voice of your own server.');
  const { spoken, problem, isRunning, speak, stop } = useSpeech();
  const length = [...text].length;
  const choose = (next: string) => {
    setId(next);
    setVoice(models.find((one) => one.id === next)?.defaultVoice ?? '');
  };
  return (
    <div class="playground">
      <section class="card" aria-label="Speech">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (!isRunning) speak({ model: id, input: text, voice, format });
          }}
        >
          <div class="field">
            <label for="speech-text">Text</label>
            <textarea
              id="speech-text"
              rows={5}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
            <small class={length > charactersMax ? 'bad' : 'quiet'}>
              {wholeText(length)} of {wholeText(charactersMax)} characters
            </small>
          </div>
          <div class="buttons">
            {isRunning ? (
              <button type="button" class="primary" onClick={stop}>
                Stop
              </button>
            ) : (
              <button type="submit" class="primary">
                Speak
              </button>
            )}
          </div>
        </form>
        <p class="problem" role="alert">
          {problem}
        </p>
        {spoken !== undefined && (
          <>
            <Player audio={spoken.audio} label={`the voice ${spoken.voice}`} autoPlay />
            <p class="measures">
              <span>{durationText(spoken.firstMs)} to the first byte</span>
              <span>{durationText(spoken.wholeMs)} in total</span>
              <span>{wholeText(spoken.audio.size)} bytes</span>
              <button type="button" onClick={() => save(spoken.fileName, spoken.audio.type, [spoken.audio])}>
                Save
              </button>
            </p>
          </>
        )}
      </section>
      <aside class="card" aria-label="Settings">
        <Choice label="Model" value={id} onChange={choose} options={models.map((one) => one.id)} />
        <Choice label="Voice" value={voice} onChange={setVoice} options={voicesOf(model)} />
        <Choice label="Format" value={format} onChange={setFormat} options={formats} />
      </aside>
      <AsCode samples={speechCode({ model: id, input: text, voice, format })} />
    </div>
  );
}

function voicesOf(model: Model | undefined): readonly (readonly [string, string])[] {
  const languages = new Map(model?.voiceDetails.map(({ id, language }) => [id, language]));
  return (model?.voices ?? []).map((id) => [id, `${id} (${languages.get(id) ?? 'any language'})`]);
}

function useSpeech() {
  const { speech, note } = useContext(PlayContext);
  const [spoken, setSpoken] = useState<Spoken>();
  const [problem, setProblem] = useState<string>();
  const [running, setRunning] = useState<AbortController>();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const speak = async (wanted: { model: string; input: string; voice: string; format: string }) => {
    const abort = new AbortController();
    current.current = abort;
    setRunning(abort);
    setProblem(undefined);
    try {
      setSpoken(await spokenBy(speech, wanted, abort.signal));
    } catch (error) {
      if (!isAborted(error)) setProblem(problemOf(note(error)));
    }
    setRunning(undefined);
  };
  return {
    spoken,
    problem,
    isRunning: running !== undefined,
    speak: (wanted: Parameters<typeof speak>[0]) => void speak(wanted),
    stop: () => running?.abort(),
  };
}

/** The audio of a text, and how long it took. */
export async function spokenBy(
  speech: PlayClients['speech'],
  { format, ...wanted }: { model: string; input: string; voice: string; format: string },
  signal: AbortSignal,
): Promise<Spoken> {
  const startedMs = performance.now();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let type = '';
  let firstMs = 0;
  for await (const part of speech.synthesizeSpeech({ ...wanted, responseFormat: format }, { signal })) {
    if (parts.length === 0) {
      type = part.contentType;
      firstMs = performance.now() - startedMs;
    }
    parts.push(new Uint8Array(part.audio));
  }
  const audio = new Blob(parts, { type });
  const fileName = `speech.${format === 'opus' ? 'ogg' : format}`;
  return { audio, voice: wanted.voice, fileName, firstMs, wholeMs: performance.now() - startedMs };
}

/** Transcription of a file or of the microphone. Highlights the words as they play. */
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Transcript } from '../../../gen/parley/audio/v1/transcription_pb.ts';
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { transcriptionCode } from '../../shared/code/audio-code.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { isAborted, problemOf } from '../api.ts';
import { save } from '../csv.ts';
import { durationText, secondsText } from '../format.tsx';
import { AsCode } from './as-code.tsx';
import { srt, vtt } from './captions.ts';
import { PlayContext } from './clients.ts';
import { Microphone } from './microphone.tsx';
import { Player } from './player.tsx';

const bytesMax = 4_194_304;

export function TranscriptionPanel({ models }: { readonly models: readonly Model[] }) {
  const { file, transcript, tookMs, problem, isRunning, transcribe, setProblem, stop } = useTranscription();
  const [isOver, setOver] = useState(false);
  const take = (next: File | null | undefined) => {
    if (!next) return;
    if (next.size > bytesMax)
      setProblem('The file is larger than 4 MB. Send a shorter or more compressed recording.');
    else transcribe(next);
  };
  return (
    <div class="playground single">
      <section class="card" aria-label="Transcription">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button is the first */}
        <div
          class={`drop ${isOver ? 'over' : ''}`}
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => {
            event.preventDefault();
            setOver(false);
            take(event.dataTransfer?.files[0]);
          }}
        >
          <p>
            <strong>Drop a recording here</strong>
            <br />
            <span class="quiet">flac, m4a, mp3, mp4, ogg, wav or webm, at most 4 MB</span>
          </p>
          <p class="buttons">
            <label class="button">
              Choose a file
              <input
                type="file"
                class="unseen"
                accept="audio/*,video/mp4,video/webm"
                onChange={({ currentTarget }) => take(currentTarget.files?.[0])}
              />
            </label>
            <Microphone onRecorded={take} onProblem={setProblem} />
          </p>
        </div>
        <p class="problem" role="alert">
          {problem}
        </p>
        {isRunning && (
          <p role="status">
            Transcribing {file?.name}…{' '}
            <button type="button" onClick={stop}>
              Stop
            </button>
          </p>
        )}
        {file !== undefined && transcript !== undefined && (
          <Heard file={file} transcript={transcript} tookMs={tookMs} />
        )}
      </section>
      <AsCode
        samples={transcriptionCode({ model: models[0]?.id ?? '', file: file?.name ?? 'recording.wav' })}
      />
    </div>
  );
}

interface HeardProps {
  readonly file: File;
  readonly transcript: Transcript;
  readonly tookMs: number;
}

function Heard({ file, transcript, tookMs }: HeardProps) {
  const player = useRef<HTMLAudioElement>(null);
  const [seconds, setSeconds] = useState(-1);
  const { text, words, duration, language } = transcript;
  const name = file.name.replace(/\.\w+$/, '');
  const play = (start: number) => {
    if (player.current === null) return;
    player.current.currentTime = start;
    void player.current.play();
  };
  return (
    <>
      <Player audio={file} label={file.name} element={player} onTime={setSeconds} />
      {text === '' ? (
        <p class="state">This recording contains no speech.</p>
      ) : (
        <p class="words" lang={language === 'english' ? 'en' : undefined}>
          {words.length === 0
            ? text
            : words.map(({ word, start, end }) => (
                <button
                  key={start}
                  type="button"
                  class={seconds >= start && seconds < end ? 'now' : ''}
                  title={`${start.toFixed(2)} s`}
                  onClick={() => play(start)}
                >
                  {word}
                </button>
              ))}
        </p>
      )}
      <p class="measures">
        <span>{secondsText(duration)} of audio</span>
        <span>{durationText(tookMs)} to transcribe</span>
        <CopyButton text={text} />
        <button type="button" onClick={() => save(`${name}.srt`, 'text/plain', [srt(transcript)])}>
          Save as srt
        </button>
        <button type="button" onClick={() => save(`${name}.vtt`, 'text/vtt', [vtt(transcript)])}>
          Save as vtt
        </button>
      </p>
    </>
  );
}

function useTranscription() {
  const { transcription } = useContext(PlayContext);
  const [file, setFile] = useState<File>();
  const [result, setResult] = useState<{
    readonly transcript: Transcript | undefined;
    readonly tookMs: number;
  }>();
  const [problem, setProblem] = useState<string>();
  const [running, setRunning] = useState<AbortController>();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const transcribe = async (next: File) => {
    current.current?.abort();
    const abort = new AbortController();
    current.current = abort;
    setRunning(abort);
    setFile(next);
    setResult(undefined);
    setProblem(undefined);
    const startedMs = performance.now();
    try {
      const request = {
        file: new Uint8Array(await next.arrayBuffer()),
        fileName: next.name,
        timestampGranularities: ['word', 'segment'],
      };
      const { transcript } = await transcription.createTranscription(request, { signal: abort.signal });
      setResult({ transcript, tookMs: performance.now() - startedMs });
    } catch (error) {
      if (!isAborted(error)) setProblem(problemOf(error));
    }
    if (current.current === abort) setRunning(undefined);
  };
  return {
    file,
    problem,
    setProblem,
    isRunning: running !== undefined,
    transcript: result?.transcript,
    tookMs: result?.tookMs ?? 0,
    transcribe: (next: File) => void transcribe(next),
    stop: () => running?.abort(),
  };
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { microphoneProblem, needsTls } from './live/open-microphone.ts';

interface Props {
  readonly onRecorded: (recording: File) => void;
  readonly onProblem: (problem: string) => void;
}

/** Records until it is stopped. Browsers allow it on pages over TLS and from this machine. */
export function Microphone({ onRecorded, onProblem }: Props) {
  const [recorder, setRecorder] = useState<MediaRecorder>();
  const current = useRef<MediaRecorder>(undefined);
  const seconds = useSeconds(recorder !== undefined);
  useEffect(() => () => release(current.current), []);
  if (needsTls) return <span class="quiet">To record, open this page over HTTPS.</span>;
  const start = async () => {
    try {
      const next = new MediaRecorder(await navigator.mediaDevices.getUserMedia({ audio: true }));
      next.ondataavailable = ({ data }) => {
        release(next);
        setRecorder(undefined);
        onRecorded(new File([data], 'microphone.webm', { type: data.type }));
      };
      next.start();
      current.current = next;
      setRecorder(next);
    } catch (error) {
      onProblem(microphoneProblem(error));
    }
  };
  return recorder === undefined ? (
    <button type="button" onClick={() => void start()}>
      <Icon name="microphone" /> Record
    </button>
  ) : (
    <button type="button" class="primary" onClick={() => recorder.stop()}>
      <Icon name="microphone" /> Stop recording ({seconds} s)
    </button>
  );
}

/** Whole seconds since the start. */
function useSeconds(isRunning: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    setSeconds(0);
    if (!isRunning) return;
    const timer = setInterval(() => setSeconds((last) => last + 1), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return seconds;
}

function release(recorder: MediaRecorder | undefined): void {
  for (const track of recorder?.stream.getTracks() ?? []) track.stop();
}

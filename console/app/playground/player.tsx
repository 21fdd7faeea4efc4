/** A recording with its waveform, position and length. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface Props {
  readonly audio: Blob;
  readonly label: string;
  readonly element?: RefObject<HTMLAudioElement | null>;
  readonly onTime?: (seconds: number) => void;
  readonly autoPlay?: boolean;
}

export function Player({ audio, label, element, onTime, autoPlay = false }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const own = useRef<HTMLAudioElement>(null);
  const player = element ?? own;
  const [url, setUrl] = useState<string>();
  const [isDrawn, setDrawn] = useState(false);
  const [share, setShare] = useState(0);
  useEffect(() => {
    const next = URL.createObjectURL(audio);
    setUrl(next);
    setShare(0);
    return () => URL.revokeObjectURL(next);
  }, [audio]);
  useEffect(() => {
    let isGone = false;
    setDrawn(false);
    import('./waveform.ts')
      .then(({ drawWaveform }) =>
        canvas.current && !isGone ? drawWaveform(canvas.current, audio) : undefined,
      )
      // A format that this browser cannot decode may still play in its player.
      .then(
        () => setDrawn(true),
        () => undefined,
      );
    return () => {
      isGone = true;
    };
  }, [audio]);
  const follow = (at: HTMLAudioElement) => {
    setShare(Number.isFinite(at.duration) && at.duration > 0 ? at.currentTime / at.duration : 0);
    onTime?.(at.currentTime);
  };
  return (
    <div class="player">
      <div class="wave">
        <canvas ref={canvas} role="img" aria-label={`Waveform of ${label}`} data-drawn={isDrawn} />
        <i style={{ left: `${share * 100}%` }} />
      </div>
      {/* biome-ignore lint/a11y/useMediaCaption: its transcript is beside it, or it is read from a text there */}
      <audio
        ref={player}
        controls
        autoplay={autoPlay}
        src={url}
        aria-label={label}
        onTimeUpdate={({ currentTarget }) => follow(currentTarget)}
      />
    </div>
  );
}

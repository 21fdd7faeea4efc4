/** A live session: start and stop, the level of the microphone, and what was said. */
import type { ComponentChildren } from 'preact';
import { CopyButton } from '../../../shared/copy-button.tsx';
import { Credits, secondsText, wholeText } from '../../format.tsx';
import { Icon } from '../../icons.tsx';
import { LevelMeter } from './level-meter.tsx';
import { isRunning, type LiveTurn } from './live-turns.ts';
import type { LiveState, useLive } from './use-live.ts';

const statuses: Readonly<Record<LiveState, string>> = {
  off: '',
  opening: 'Opening the microphone…',
  listening: 'Listening',
  ending: 'Waiting for the last words…',
};

interface Props {
  readonly label: string;
  readonly live: ReturnType<typeof useLive>;
  readonly onStart: () => void;
  /** The language of the texts. Empty: unknown. */
  readonly language: string;
  /** Shown before the first turn. */
  readonly children: ComponentChildren;
}

export function LiveSessionView({ label, live, onStart, language, children }: Props) {
  const { state, turns, peak, problem, fairUse, isSpeaking, stop, cancel } = live;
  const lang = language || undefined;
  const ended = turns.filter((turn) => !isRunning(turn));
  return (
    <section class="card" aria-label={label}>
      <div class="live">
        <button type="button" class="primary" onClick={state === 'off' ? onStart : stop}>
          <Icon name="microphone" /> {state === 'off' ? 'Start' : 'Stop'}
        </button>
        <LevelMeter peak={peak} />
        <span class="quiet" role="status">
          {statuses[state]}
        </span>
        {isSpeaking && (
          <button type="button" onClick={cancel}>
            Interrupt
          </button>
        )}
      </div>
      <p class="problem" role="alert">
        {problem}
      </p>
      {turns.length === 0 && <p class="state">{children}</p>}
      <div role="log" aria-label="Transcript" lang={lang}>
        {ended.map((turn) => (
          <Turn key={turn.item} turn={turn} />
        ))}
      </div>
      {turns.filter(isRunning).map(({ item, side, text }) => (
        <p key={item} class={`spoken ${side}`} lang={lang}>
          {text} <i class="caret" />
        </p>
      ))}
      {ended.length > 0 && <Measures turns={ended} fairUse={fairUse} />}
    </section>
  );
}

function Turn({ turn }: { readonly turn: LiveTurn }) {
  const { side, state, text, problem, seconds, units, cost, request, isInterrupted } = turn;
  return (
    <article class={`spoken ${side}`}>
      {text !== '' && <p>{text}</p>}
      {state === 'failed' && <p class="problem">{problem}</p>}
      {state === 'whole' && text === '' && (
        <p class="quiet">{side === 'person' ? 'No words were understood.' : 'Nothing was said.'}</p>
      )}
      <p class="measures">
        {side === 'model' && <span>Answer</span>}
        {isInterrupted && <span>interrupted</span>}
        {seconds !== undefined && <span>{secondsText(seconds)} of audio</span>}
        {side === 'person' && units !== undefined && <span>{wholeText(units)} units of fair use</span>}
        {cost !== undefined && (
          <span>
            <Credits nano={cost} /> credits
          </span>
        )}
        {request !== undefined && <a href={`/console/usage?id=${request}`}>Record</a>}
      </p>
    </article>
  );
}

interface MeasuresProps {
  readonly turns: readonly LiveTurn[];
  readonly fairUse: { readonly used: bigint; readonly limit: bigint } | undefined;
}

function Measures({ turns, fairUse }: MeasuresProps) {
  const seconds = turns.reduce((sum, turn) => sum + (turn.seconds ?? 0), 0);
  const cost = turns.reduce((sum, turn) => sum + (turn.cost ?? 0n), 0n);
  return (
    <p class="measures">
      <span>{secondsText(seconds)} of audio in all</span>
      {turns.some((turn) => turn.cost !== undefined) && (
        <span>
          <Credits nano={cost} /> credits in all
        </span>
      )}
      {fairUse && (
        <span>
          {wholeText(fairUse.used)} of {wholeText(fairUse.limit)} units of this month are used
        </span>
      )}
      <CopyButton text={turns.map(({ text }) => text).join('\n')} />
    </p>
  );
}

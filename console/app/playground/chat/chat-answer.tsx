import { CopyButton } from '../../../shared/copy-button.tsx';
import { Credits, durationText, wholeText } from '../../format.tsx';
import { Code } from '../../scroll.tsx';
import { Markdown } from '../markdown/markdown.tsx';
import type { Answer } from './chat-run.ts';

interface Props {
  /** Id of the model. */
  readonly id: string;
  readonly answer: Answer;
}

/** A model's answer, with its tokens, cost and times. */
export function ChatAnswer({ id, answer }: Props) {
  const { text, state, problem, calls, finish } = answer;
  return (
    <section class="answer" aria-label={`Answer of ${id}`}>
      <h2>{id}</h2>
      <div class="text" aria-busy={state === 'running'}>
        <Markdown text={text} />
        {state === 'running' && <span class="caret" aria-hidden="true" />}
      </div>
      {calls?.map(({ name, input }, index) => (
        <div key={index} class="code-block">
          <p class="quiet">Call of the tool {name}</p>
          <Code text={input} />
        </div>
      ))}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {state === 'stopped' && <p class="quiet">Stopped.</p>}
      {finish === 'length' && <p class="quiet">The answer reached its limit of tokens.</p>}
      <Measures answer={answer} />
    </section>
  );
}

function Measures({ answer }: Pick<Props, 'answer'>) {
  const { text, state, promptTokens, completionTokens, cost, firstMs, wholeMs } = answer;
  return (
    <p class="measures">
      {completionTokens === undefined ? (
        state === 'running' &&
        text !== '' && <span>about {wholeText(Math.ceil(text.length / 4))} tokens</span>
      ) : (
        <span title="Prompt and answer">
          {wholeText(promptTokens ?? 0)} + {wholeText(completionTokens)} tokens
        </span>
      )}
      {cost !== undefined && (
        <span>
          <Credits nano={cost} /> credits
        </span>
      )}
      {firstMs !== undefined && <span title="Until the first words">{durationText(firstMs)} to first</span>}
      {wholeMs !== undefined && <span>{durationText(wholeMs)} in total</span>}
      {state !== 'running' && text !== '' && <CopyButton text={text} />}
    </p>
  );
}

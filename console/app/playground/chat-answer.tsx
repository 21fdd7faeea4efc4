import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { Credits, durationText, wholeText } from '../format.tsx';
import { type Answer, costOf } from './chat-run.ts';

interface Props {
  readonly id: string;
  /** Undefined if the model is not in the catalog any more. */
  readonly model: Model | undefined;
  readonly answer: Answer;
}

/** A model's answer, with its tokens, cost and times. */
export function ChatAnswer({ id, model, answer }: Props) {
  const { text, state, problem, promptTokens, completionTokens, firstMs, wholeMs, finish } = answer;
  const cost = model && costOf(model, answer);
  return (
    <section class="answer" aria-label={`Answer of ${id}`}>
      <h3>{id}</h3>
      <div class="text" aria-busy={state === 'running'}>
        {text}
        {state === 'running' && <span class="caret" aria-hidden="true" />}
      </div>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {state === 'stopped' && <p class="quiet">Stopped.</p>}
      {finish === 'length' && <p class="quiet">The answer reached its limit of tokens.</p>}
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
    </section>
  );
}

import { useState } from 'preact/hooks';
import type { Sample } from '../shared/code/sample.ts';
import { CopyButton } from '../shared/copy-button.tsx';
import type { KeyKind } from './document.ts';
import { useKey } from './keys.ts';
import { useSessionKey } from './session.ts';

interface Props {
  readonly samples: readonly Sample[];
  readonly kind: KeyKind | undefined;
}

/** The playground of the console keeps the chosen language in the same place. */
const choicePlace = 'parley-code';

export function Samples({ samples, kind }: Props) {
  const [name, setName] = useState(() => localStorage.getItem(choicePlace) ?? '');
  const sample = samples.find((one) => one.name === name) ?? samples[0];
  if (sample === undefined) return null;
  const choose = (next: string) => {
    localStorage.setItem(choicePlace, next);
    setName(next);
  };
  return (
    <section class="samples" aria-labelledby="samples">
      <h2 id="samples">The call as code</h2>
      <fieldset class="languages">
        <legend class="unseen">Language</legend>
        {samples.map((one) => (
          <label key={one.name}>
            <input
              type="radio"
              name="language"
              checked={one.name === sample.name}
              onChange={() => choose(one.name)}
            />
            <span>{one.name}</span>
          </label>
        ))}
      </fieldset>
      <Code text={sample.code} />
      {kind !== undefined && <KeyLine kind={kind} />}
    </section>
  );
}

function Code({ text, shown = text }: { readonly text: string; readonly shown?: string }) {
  return (
    <div class="code">
      <pre>
        <code>{shown}</code>
      </pre>
      <div class="copy">
        <CopyButton key={text} text={text} />
      </div>
    </div>
  );
}

/** The key for the samples: that of this tab, or a hint at that of the session, whose secret no page can read. */
function KeyLine({ kind }: { readonly kind: KeyKind }) {
  const [key] = useKey(kind);
  const session = useSessionKey(kind);
  const command = (value: string) => `export PARLEY_API_KEY=${value}`;
  if (key !== '') {
    return (
      <>
        <p class="facts">The samples read the key from the environment. Copying takes your whole key:</p>
        <Code text={command(key)} shown={command(masked(key))} />
      </>
    );
  }
  if (session !== undefined) {
    return (
      <p class="facts">
        The samples read the key from <code>PARLEY_API_KEY</code>. You are signed in with{' '}
        <code>
          {session.prefix}…{session.last_four}
        </code>{' '}
        ({session.name}); its secret was shown when it was created.
      </p>
    );
  }
  const example = kind === 'adminKey' ? 'an admin key' : 'a key of an account';
  return (
    <p class="facts">
      The samples read the key, {example}, from <code>PARLEY_API_KEY</code>.
    </p>
  );
}

function masked(key: string): string {
  return `${key.slice(0, 3)}…${key.slice(-4)}`;
}

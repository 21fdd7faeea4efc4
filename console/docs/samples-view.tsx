import { useState } from 'preact/hooks';
import { Colored } from '../shared/code/colored.tsx';
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
  const names = samples.map(({ name }) => name);
  const [chosen, choose] = useLanguage(names);
  const sample = samples.find(({ name }) => name === chosen);
  if (sample === undefined) return null;
  return (
    <section class="samples" aria-labelledby="samples">
      <h2 id="samples">The call as code</h2>
      <Languages names={names} chosen={chosen} onChoose={choose} />
      <Code text={sample.code} language={chosen} />
      {kind !== undefined && <KeyLine kind={kind} />}
    </section>
  );
}

/** The reader's language, if it is one of the names, else the first. */
export function useLanguage(names: readonly string[]): readonly [string, (name: string) => void] {
  const [name, setName] = useState(() => localStorage.getItem(choicePlace) ?? '');
  const choose = (next: string) => {
    localStorage.setItem(choicePlace, next);
    setName(next);
  };
  return [names.includes(name) ? name : (names[0] ?? ''), choose];
}

interface LanguagesProps {
  readonly names: readonly string[];
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
}

export function Languages({ names, chosen, onChoose }: LanguagesProps) {
  return (
    <fieldset class="languages">
      <legend class="unseen">Language</legend>
      {names.map((name) => (
        <label key={name}>
          <input type="radio" name="language" checked={name === chosen} onChange={() => onChoose(name)} />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface CodeProps {
  readonly text: string;
  readonly shown?: string;
  readonly language: string;
}

export function Code({ text, shown = text, language }: CodeProps) {
  return (
    <div class="code">
      <pre>
        <code>
          <Colored text={shown} language={language} />
        </code>
      </pre>
      <div class="copy">
        <CopyButton key={text} text={text} />
      </div>
    </div>
  );
}

/** The key for the samples: that of this tab, or a hint at that of the session, whose secret no page can read. */
export function KeyLine({ kind }: { readonly kind: KeyKind }) {
  const [key] = useKey(kind);
  const session = useSessionKey(kind);
  const command = (value: string) => `export PARLEY_API_KEY=${value}`;
  if (key !== '') {
    return (
      <>
        <p class="facts">The samples read the key from the environment. Copying takes your whole key:</p>
        <Code text={command(key)} shown={command(masked(key))} language="sh" />
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

/** The request on the screen, as code in several languages. */

import { useState } from 'preact/hooks';
import type { Sample } from '../../shared/code/sample.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { Segments } from '../fields.tsx';
import { Code } from '../scroll.tsx';

interface Props {
  readonly samples: readonly Sample[];
  /** Default: the reader opens it. */
  readonly isOpen?: boolean;
}

export function AsCode({ samples, isOpen = false }: Props) {
  const [name, setName] = useState(() => localStorage.getItem('parley-code') ?? '');
  const sample = samples.find((one) => one.name === name) ?? samples[0];
  if (sample === undefined) return null;
  const choose = (next: string) => {
    localStorage.setItem('parley-code', next);
    setName(next);
  };
  return (
    <details class="card code" open={isOpen}>
      <summary>As code</summary>
      <div class="title">
        <Segments
          label="Language"
          value={sample.name}
          onChange={choose}
          options={samples.map((one) => ({ value: one.name, text: one.name }))}
        />
        <CopyButton key={sample.code} text={sample.code} />
      </div>
      <Code text={sample.code} />
    </details>
  );
}

/** Live transcription of the microphone: words while they are spoken, and the text of each turn. */
import { useState } from 'preact/hooks';
import type { Model } from '../../../../gen/parley/catalog/v1/catalog_pb.ts';
import { liveCode } from '../../../shared/code/live-code.ts';
import { Choice } from '../../fields.tsx';
import { AsCode } from '../as-code.tsx';
import { languageOptions } from './languages.ts';
import { LiveSessionView } from './live-session-view.tsx';
import { NeedsTls } from './needs-tls.tsx';
import { needsTls } from './open-microphone.ts';
import { useLive } from './use-live.ts';

export function LivePanel({ models }: { readonly models: readonly Model[] }) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [language, setLanguage] = useState('');
  const live = useLive();
  if (needsTls) return <NeedsTls />;
  const start = () => {
    const transcription = { model, ...(language !== '' && { language }) };
    live.start({
      kind: 'transcription',
      session: { type: 'transcription', audio: { input: { transcription } } },
    });
  };
  return (
    <div class="playground">
      <LiveSessionView label="Live transcription" live={live} onStart={start} language={language}>
        <strong>Start, and speak.</strong> Words appear while you speak; a pause ends a turn.
      </LiveSessionView>
      <aside class="card" aria-label="Settings">
        <fieldset class="plain" disabled={live.state !== 'off'}>
          <legend class="unseen">Settings of the next start</legend>
          <Choice label="Model" value={model} onChange={setModel} options={models.map(({ id }) => id)} />
          <Choice
            label="Language"
            value={language}
            onChange={setLanguage}
            all="Any"
            options={languageOptions}
          />
        </fieldset>
        <p class="quiet">
          <small>The language is a hint. Some models know one language only.</small>
        </p>
      </aside>
      <AsCode samples={liveCode({ model, language })} />
    </div>
  );
}

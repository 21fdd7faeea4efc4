/** A conversation with the microphone: the model answers aloud, and can be interrupted. */
import { useState } from 'preact/hooks';
import { Area } from '../../fields.tsx';
import { LiveSessionView } from './live-session-view.tsx';
import { NeedsTls } from './needs-tls.tsx';
import { needsTls } from './open-microphone.ts';
import { useLive } from './use-live.ts';

export function ConversationPanel() {
  const [instructions, setInstructions] = useState('');
  const live = useLive();
  if (needsTls) return <NeedsTls />;
  const start = () =>
    live.start({
      kind: 'conversation',
      session: { type: 'realtime', ...(instructions.trim() !== '' && { instructions }) },
    });
  return (
    <div class="playground">
      <LiveSessionView label="Conversation" live={live} onStart={start} language="">
        <strong>Start, and speak.</strong> A pause ends your turn. Speak, or press Interrupt, to silence the
        answer.
      </LiveSessionView>
      <aside class="card" aria-label="Settings">
        <fieldset class="plain" disabled={live.state !== 'off'}>
          <legend class="unseen">Settings of the next start</legend>
          <Area
            label="Instructions"
            rows={4}
            value={instructions}
            onInput={({ currentTarget }) => setInstructions(currentTarget.value)}
          />
        </fieldset>
        <p class="quiet">
          <small>
            The answers are chats, which spend credits. Hearing and speaking count towards fair use.
          </small>
        </p>
      </aside>
    </div>
  );
}

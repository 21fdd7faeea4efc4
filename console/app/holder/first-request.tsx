import { CopyButton } from '../../shared/copy-button.tsx';
import { Code } from '../scroll.tsx';

/** For an account without any requests yet. */
export function FirstRequest() {
  const command = [
    `curl ${location.origin}/api/v1/chat/completions \\`,
    '  -H "Authorization: Bearer $PARLEY_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    '  -d \'{"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}\'',
  ].join('\n');
  return (
    <section class="card">
      <h2>Your first request</h2>
      <p>
        There were no requests in the last two weeks. Try it in the{' '}
        <a href="/console/playground">playground</a>, or from a program:
      </p>
      <Code text={command} />
      <p>
        <CopyButton text={command} /> Any OpenAI SDK works with the base URL{' '}
        <code>{location.origin}/api/v1</code>.
      </p>
    </section>
  );
}

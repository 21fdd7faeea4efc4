import { CopyButton } from '../../shared/copy-button.tsx';
import { catalog } from '../api.ts';
import { Code } from '../scroll.tsx';
import { Show, useLoaded } from '../states.tsx';

/** How a program calls this server: its base URL, and a request to the first model that the key may call. */
export function FirstRequest() {
  const model = useLoaded('first model', async (signal) => {
    const { data: models } = await catalog.listModels({}, { signal });
    return { first: models.find(({ type }) => type === 'chat') ?? models[0] };
  });
  return (
    <section class="card">
      <h2>From a program</h2>
      <p>
        Any OpenAI SDK works with the base URL <code>{location.origin}/api/v1</code>, one of your keys, and a
        model&rsquo;s name. Or try it in the <a href="/console/playground">playground</a>.
      </p>
      <Show of={model} what="the models">
        {({ first }) =>
          first === undefined ? (
            <p class="quiet">This key may call no model yet.</p>
          ) : (
            <Command text={first.type === 'chat' ? chatCommand(first.id) : listCommand} />
          )
        }
      </Show>
    </section>
  );
}

const authorization = '  -H "Authorization: Bearer $PARLEY_API_KEY"';
const listCommand = [`curl ${location.origin}/api/v1/models \\`, authorization].join('\n');

function chatCommand(model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return [
    `curl ${location.origin}/api/v1/chat/completions \\`,
    `${authorization} \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join('\n');
}

function Command({ text }: { readonly text: string }) {
  return (
    <>
      <Code text={text} />
      <p>
        <CopyButton text={text} />
      </p>
    </>
  );
}

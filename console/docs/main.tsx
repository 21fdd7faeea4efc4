/** The reference: `/docs` shows the REST paths, `/docs/rpcs` the RPCs. */
import { type ComponentChildren, render } from 'preact';
import { documentPath, fetchJson } from './document.ts';
import { RestPage } from './rest-page.tsx';
import { RpcPage } from './rpc-page.tsx';

async function page(): Promise<ComponentChildren> {
  if (location.pathname.endsWith('/rpcs')) {
    document.title = 'Parley reference: gRPC and Connect';
    return <RpcPage document={await fetchJson('/docs/rpcs.json')} />;
  }
  return <RestPage document={await fetchJson(documentPath)} />;
}

try {
  render(await page(), document.body);
} catch (error) {
  render(
    <p role="alert">The reference could not be loaded. {String(error)} Reload to try again.</p>,
    document.body,
  );
}

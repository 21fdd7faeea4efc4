/** Completes the pages under `/docs`: theme, search, buttons that copy, and what is drawn from the documents of the API. */
import { type ComponentChildren, render } from 'preact';
import { CopyButton } from '../shared/copy-button.tsx';
import { ThemeChoice } from '../shared/theme-choice.tsx';
import { documentPath, fetchJson, readApi } from './document.ts';
import { OperationView } from './operation-view.tsx';
import { QuickStart } from './quick-start.tsx';
import { RpcView } from './rpc-view.tsx';
import { Search } from './search.tsx';
import { loadSession } from './session.ts';

const find = (selector: string) => document.querySelector<HTMLElement>(selector);

function draw(place: Element | null, content: ComponentChildren): void {
  if (place === null) return;
  place.replaceChildren();
  render(content, place);
}

/** The operations were once parts of one page. */
function followOldAddress(): void {
  const link = find(`aside a[href="/docs/api/${CSS.escape(location.hash.slice(1))}"]`);
  if (location.pathname === '/docs' && link instanceof HTMLAnchorElement) location.replace(link.href);
}

/** Narrow screens show the contents when asked. */
function foldContents(): void {
  const contents = find('aside details');
  if (contents instanceof HTMLDetailsElement) contents.open = matchMedia('(min-width: 60rem)').matches;
}

/** The list of contents has its own scroll position, and begins at the top on each page. */
function showCurrentPage(): void {
  const [contents, link] = [find('aside'), find('aside a[aria-current]')];
  if (contents !== null && link !== null) contents.scrollTop = link.offsetTop - contents.clientHeight / 2;
}

function addCopyButtons(): void {
  for (const code of document.querySelectorAll('main .code')) {
    const place = code.appendChild(document.createElement('div'));
    place.className = 'copy';
    render(<CopyButton text={code.querySelector('code')?.textContent ?? ''} />, place);
  }
}

async function drawn(place: HTMLElement): Promise<ComponentChildren> {
  const id = place.dataset['operation'];
  if (id === undefined) return <RpcView document={await fetchJson('/docs/rpcs.json')} />;
  const api = readApi(await fetchJson(documentPath));
  const operation = api.operations.find(({ operationId }) => operationId === id);
  if (operation === undefined) throw new Error('The server has no such operation.');
  return <OperationView api={api} operation={operation} />;
}

/** This script draws the content, so the browser looked for the target of the address too early. */
function showTarget(): void {
  if (location.hash !== '')
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

async function drawContent(place: HTMLElement): Promise<void> {
  try {
    draw(place, await drawn(place));
    showTarget();
  } catch (error) {
    draw(place, <p role="alert">The reference could not be loaded. {String(error)} Reload to try again.</p>);
  }
}

followOldAddress();
draw(find('.theme-place'), <ThemeChoice />);
const search = find('search');
draw(search, <Search indexPath={search?.dataset['index'] ?? ''} />);
foldContents();
showCurrentPage();
addCopyButtons();
draw(find('#start'), <QuickStart />);
const place = find('#drawn');
if (place !== null) void drawContent(place);
const hasConsole = await loadSession();
if (hasConsole) find('header .console')?.removeAttribute('hidden');

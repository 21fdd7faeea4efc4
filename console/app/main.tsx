/** The console: pages for holders of API keys and, with an admin key, for operators. */
import { render } from 'preact';
import { Console } from './console.tsx';
import { followLinks } from './router.ts';

followLinks();
render(<Console />, document.body);

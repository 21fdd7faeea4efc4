/** Whether the server can be reached. If not, asks again until it answers. */
import { useLayoutEffect, useState } from 'preact/hooks';

const retryMs = 2_000;
const changes = new EventTarget();
let isLost = false;

export function connectionLost(): void {
  if (isLost) return;
  isLost = true;
  changes.dispatchEvent(new Event('change'));
  setTimeout(tryAgain, retryMs);
}

async function tryAgain(): Promise<void> {
  try {
    const { ok } = await fetch('/healthz');
    if (!ok) throw new Error('not healthy');
    isLost = false;
    changes.dispatchEvent(new Event('change'));
  } catch {
    setTimeout(tryAgain, retryMs);
  }
}

export function useConnectionLost(): boolean {
  const [lost, setLost] = useState(isLost);
  useLayoutEffect(() => {
    const update = () => setLost(isLost);
    changes.addEventListener('change', update);
    return () => changes.removeEventListener('change', update);
  }, []);
  return lost;
}

/** Whether the server has other scripts than this page, as after an upgrade. */
export async function isOutdated(): Promise<boolean> {
  const own = document.querySelector('script')?.getAttribute('src') ?? '';
  try {
    const page = await fetch('/console');
    return page.ok && !(await page.text()).includes(own);
  } catch {
    return false;
  }
}

/** The time zone in which the pages show times: UTC, unless the reader chooses their own. */
import { useLayoutEffect, useState } from 'preact/hooks';

const place = 'parley-zone';
const changes = new EventTarget();
/** Such as `Europe/Berlin`. */
const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
let current = localStorage.getItem(place) === 'own' ? ownZone : 'UTC';

/** Such as `UTC`. */
export const shownZone = (): string => current;

function choose(zone: string): void {
  current = zone;
  localStorage.setItem(place, zone === 'UTC' ? 'utc' : 'own');
  changes.dispatchEvent(new Event('change'));
}

/** Renders again whenever the reader chooses another zone. */
export function useZone(): string {
  const [zone, setZone] = useState(current);
  useLayoutEffect(() => {
    const update = () => setZone(current);
    changes.addEventListener('change', update);
    return () => changes.removeEventListener('change', update);
  }, []);
  return zone;
}

/** Renders nothing for a reader in UTC. */
export function ZoneChoice() {
  const zone = useZone();
  if (ownZone === 'UTC') return null;
  return (
    <label class="theme">
      Times{' '}
      <select value={zone} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {['UTC', ownZone].map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

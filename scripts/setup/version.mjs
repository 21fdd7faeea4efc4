/**
 * Whether `version` is `least` or newer. Both are dotted numbers with or without a leading `v`; what is not written counts as 0.
 *
 * @param {string} version
 * @param {string} least
 */
export function isAtLeast(version, least) {
  const [have, need] = [numbers(version), numbers(least)];
  for (let place = 0; place < 3; place++) {
    const difference = (have[place] ?? 0) - (need[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** @param {string} version */
function numbers(version) {
  return (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? '').split('.').map(Number);
}

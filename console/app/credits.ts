/** Amounts of credits as exact decimals, and as people read them. */

const nanoPerCredit = 1_000_000_000n;

/** An amount in credits, as an exact decimal. */
export function exactCredits(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const fraction = String(size % nanoPerCredit)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / nanoPerCredit}${fraction && `.${fraction}`}`;
}

/** The amount of an exact decimal in credits, such as `9.99875`. */
export function nanoOf(credits: string): bigint {
  const [whole = '0', fraction = ''] = credits.replace('-', '').split('.');
  const nano = BigInt(whole) * nanoPerCredit + BigInt(fraction.padEnd(9, '0'));
  return credits.startsWith('-') ? -nano : nano;
}

/** Two decimals, or as many as show the first two digits of a small amount that are not zero. */
function placesOfOne(nano: bigint): number {
  const size = Math.abs(Number(nano) / Number(nanoPerCredit));
  return size === 0 || size >= 1 ? 2 : Math.min(9, Math.max(2, 1 - Math.floor(Math.log10(size))));
}

/** The decimals that show every amount of a column exactly, so that its rows add up. */
export function placesOf(column: readonly bigint[]): number {
  return column.reduce((places, nano) => Math.max(places, exactCredits(nano).split('.')[1]?.length ?? 0), 2);
}

/** Rounded down, so that nobody sees credits that are not there. */
export function creditsText(nano: bigint, places?: number): string {
  const format = new Intl.NumberFormat(undefined, {
    minimumFractionDigits: places ?? 2,
    maximumFractionDigits: places ?? placesOfOne(nano),
    roundingMode: 'floor',
  });
  return format.format(exactCredits(nano) as `${number}`);
}

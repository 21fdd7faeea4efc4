/** From a row's values to those of the domain, where an absent value is undefined. */

export function optionalNumber(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}

export function optionalText(value: string | null): string | undefined {
  return value ?? undefined;
}

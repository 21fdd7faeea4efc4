/** Singular and plural of units that are read as words only after a number. */
const units: Readonly<Record<string, readonly [string, string]>> = {
  'km/h': ['kilometer per hour', 'kilometers per hour'],
  'm/s': ['meter per second', 'meters per second'],
  mph: ['mile per hour', 'miles per hour'],
  km: ['kilometer', 'kilometers'],
  cm: ['centimeter', 'centimeters'],
  mm: ['millimeter', 'millimeters'],
  kg: ['kilogram', 'kilograms'],
  mg: ['milligram', 'milligrams'],
  ml: ['milliliter', 'milliliters'],
  lb: ['pound', 'pounds'],
  lbs: ['pound', 'pounds'],
  oz: ['ounce', 'ounces'],
  ft: ['foot', 'feet'],
  μm: ['micrometer', 'micrometers'],
  μg: ['microgram', 'micrograms'],
  μs: ['microsecond', 'microseconds'],
  ms: ['millisecond', 'milliseconds'],
  kB: ['kilobyte', 'kilobytes'],
  KB: ['kilobyte', 'kilobytes'],
  MB: ['megabyte', 'megabytes'],
  GB: ['gigabyte', 'gigabytes'],
  TB: ['terabyte', 'terabytes'],
  Hz: ['hertz', 'hertz'],
  kHz: ['kilohertz', 'kilohertz'],
  MHz: ['megahertz', 'megahertz'],
  GHz: ['gigahertz', 'gigahertz'],
  kW: ['kilowatt', 'kilowatts'],
  kWh: ['kilowatt hour', 'kilowatt hours'],
  dB: ['decibel', 'decibels'],
  '°C': ['degree Celsius', 'degrees Celsius'],
  '°F': ['degree Fahrenheit', 'degrees Fahrenheit'],
  '°': ['degree', 'degrees'],
};
const longestFirst = Object.keys(units).sort((a, b) => b.length - a.length);
const measure = new RegExp(
  String.raw`(?<![\d.,])(\d[\d.,]*)\s?(${longestFirst.join('|')})(?![\p{L}\p{N}/])`,
  'gu',
);

/** Words for units after a number. */
export function wordsForMeasures(text: string): string {
  return text
    .replace(/(?<!\d)(\d{1,2})'\s?(\d{1,2})(?:"|'')/g, '$1 feet $2 inches')
    .replace(
      measure,
      (_, number: string, unit: string) => `${number} ${units[unit]?.[number === '1' ? 0 : 1]}`,
    );
}

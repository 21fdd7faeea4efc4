/** Words for dates and times that flite misreads. flite reads dates with slashes and most times well. */
export function wordsForDatesAndTimes(text: string): string {
  return clocks(dates(text));
}

const monthName = new Intl.DateTimeFormat('en-US', { month: 'long', timeZone: 'UTC' });

/** `2026-11-21`, which flite reads digit by digit, like a telephone number. */
function dates(text: string): string {
  const iso = /(?<![\d-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])(T(?=\d))?/g;
  return text.replace(iso, (_, year: string, month: string, day: string, time: string | undefined) => {
    return `${monthName.format(Date.UTC(2000, Number(month) - 1))} ${Number(day)}, ${year}${time === undefined ? '' : ', '}`;
  });
}

/** Times with seconds, and times that start with a zero hour: flite omits `00:00`. */
function clocks(text: string): string {
  const clock = /(?<![\d:])(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:[.,]\d+)?)?(Z?)(?![\d:])/g;
  return text.replace(clock, (_, hour: string, minute: string, second: string | undefined, utc: string) => {
    const isSaidWell = second === undefined && Number(hour) > 0;
    const time = isSaidWell ? `${hour}:${minute}` : timeInWords(hour, minute, second);
    return utc === '' ? time : `${time} U T C`;
  });
}

function timeInWords(hour: string, minute: string, second: string | undefined): string {
  const parts = [count(hour, 'hour'), count(minute, 'minute')];
  if (second !== undefined) parts.push(count(second, 'second'));
  return parts.join(' ');
}

function count(digits: string, unit: string): string {
  return `${Number(digits)} ${unit}${Number(digits) === 1 ? '' : 's'}`;
}

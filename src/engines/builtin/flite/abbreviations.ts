/** Abbreviations before a name or a number: their dot never ends a sentence. */
const leading: Readonly<Record<string, string>> = {
  'e.g.': 'for example',
  'i.e.': 'that is',
  'vs.': 'versus',
  'approx.': 'approximately',
  'Prof.': 'Professor',
  'Gov.': 'Governor',
  'Sen.': 'Senator',
  'Rep.': 'Representative',
  'Rev.': 'Reverend',
  'Gen.': 'General',
  'Col.': 'Colonel',
  'Capt.': 'Captain',
  'Lt.': 'Lieutenant',
  'Sgt.': 'Sergeant',
  'Hon.': 'Honorable',
  'Mt.': 'Mount',
  'Fig.': 'Figure',
  'fig.': 'figure',
  'Vol.': 'Volume',
  'vol.': 'volume',
  'Apt.': 'Apartment',
  'w/o': 'without',
  // flite reads `OK` as Oklahoma.
  OK: 'okay',
};

/** Abbreviations only before a number. */
const beforeNumber: Readonly<Record<string, string>> = {
  'No.': 'number',
  'no.': 'number',
  'Nos.': 'numbers',
  'p.': 'page',
  'pp.': 'pages',
  'Jan.': 'January',
  'Feb.': 'February',
  'Mar.': 'March',
  'Apr.': 'April',
  'Jun.': 'June',
  'Jul.': 'July',
  'Aug.': 'August',
  'Sep.': 'September',
  'Sept.': 'September',
  'Oct.': 'October',
  'Nov.': 'November',
  'Dec.': 'December',
  '#': 'number',
};

/** Abbreviations whose dot may also end the sentence. */
const closing: Readonly<Record<string, string>> = {
  'etc.': 'et cetera',
  'Inc.': 'Incorporated',
  'Ltd.': 'Limited',
  'Corp.': 'Corporation',
  'Co.': 'Company',
  'Jr.': 'Junior',
  'Sr.': 'Senior',
  'Ave.': 'Avenue',
  'Blvd.': 'Boulevard',
  'Rd.': 'Road',
  'dept.': 'department',
  'Dept.': 'Department',
};

const leadingPattern = patternFor(leading, '(?![A-Za-z0-9])');
const beforeNumberPattern = patternFor(beforeNumber, String.raw`\s?(?=\d)`);
const closingPattern = patternFor(closing, String.raw`(["')]*(?:\s*$|\s+["'(]*(?=[A-Z])))?`);

/** Writes out abbreviations that flite spells or misreads. Those that flite knows, such as `Dr.`, stay. */
export function wordsForAbbreviations(text: string): string {
  return text
    .replace(leadingPattern, (_, short: string) => leading[short] ?? short)
    .replace(beforeNumberPattern, (_, short: string) => `${beforeNumber[short]} `)
    .replace(closingPattern, (_, short: string, sentenceEnd: string | undefined) => {
      return sentenceEnd === undefined ? (closing[short] ?? short) : `${closing[short]}.${sentenceEnd}`;
    });
}

/** Matches one of the words as the first group, but not after a letter or digit. */
function patternFor(words: Readonly<Record<string, string>>, behind: string): RegExp {
  const literal = Object.keys(words).map((word) => word.replaceAll('.', String.raw`\.`));
  return new RegExp(`(?<![A-Za-z0-9.])(${literal.join('|')})${behind}`, 'g');
}

interface Currency {
  readonly one: string;
  readonly many: string;
  /** Name of the hundredths. Without it, amounts are read with a decimal point. */
  readonly hundredths?: string;
}

/** Currencies by sign. flite reads a dollar sign before a number itself. */
const currencies: Readonly<Record<string, Currency>> = {
  $: { one: 'dollar', many: 'dollars', hundredths: 'cents' },
  '€': { one: 'euro', many: 'euros', hundredths: 'cents' },
  '£': { one: 'pound', many: 'pounds', hundredths: 'pence' },
  '¥': { one: 'yen', many: 'yen' },
  '₹': { one: 'rupee', many: 'rupees' },
  '₩': { one: 'won', many: 'won' },
  '₽': { one: 'ruble', many: 'rubles' },
  '₺': { one: 'lira', many: 'lira' },
  '₴': { one: 'hryvnia', many: 'hryvnia' },
  '₪': { one: 'shekel', many: 'shekels' },
  '₫': { one: 'dong', many: 'dong' },
  '฿': { one: 'baht', many: 'baht' },
  '₦': { one: 'naira', many: 'naira' },
  '₱': { one: 'peso', many: 'pesos' },
  '₿': { one: 'bitcoin', many: 'bitcoins' },
  '¢': { one: 'cent', many: 'cents' },
};
const signs = Object.keys(currencies).join('');
const scales: Readonly<Record<string, string>> = { k: 'thousand', m: 'million', bn: 'billion', b: 'billion' };
const amount = String.raw`\d(?:[\d,]{0,30}\d)?(?:\.\d+)?`;
const signFirst = new RegExp(
  String.raw`([${signs}])\s?(${amount}|\.\d+)(?:\s?(thousand|million|billion|trillion|k|m|bn|b)(?![\p{L}\p{N}]))?`,
  'giu',
);
const signLast = new RegExp(String.raw`(?<![\d.,])(${amount})\s?([${signs}])(?!\s?\.?\d)`, 'gu');
const signAlone = new RegExp(`[${signs.replace('$', '')}]`, 'g');

/** Words for amounts in currencies other than dollars, and for dollar amounts that flite misreads. */
export function wordsForMoney(text: string): string {
  return text
    .replace(signFirst, (_, sign: string, number: string, scale: string | undefined) => {
      const figure = number.startsWith('.') ? `0${number}` : number;
      if (scale !== undefined) return scaledAmount(sign, figure, scales[scale.toLowerCase()] ?? scale);
      return sign === '$' ? `$${figure}` : plainAmount(sign, figure);
    })
    .replace(signLast, (_, number: string, sign: string) =>
      plainAmount(sign, number.replace(/,(?=\d\d$)/, '.')),
    )
    .replace(signAlone, (sign) => ` ${currencies[sign]?.many} `);
}

function scaledAmount(sign: string, number: string, scale: string): string {
  return `${number} ${scale} ${currencies[sign]?.many}`;
}

function plainAmount(sign: string, number: string): string {
  const currency = currencies[sign];
  if (currency === undefined) return number;
  const [whole, decimals] = number.split('.');
  if (currency.hundredths === undefined || decimals?.length !== 2) {
    return `${number} ${number === '1' ? currency.one : currency.many}`;
  }
  const wholeAmount = `${whole} ${whole === '1' ? currency.one : currency.many}`;
  return decimals === '00' ? wholeAmount : `${wholeAmount} ${Number(decimals)} ${currency.hundredths}`;
}

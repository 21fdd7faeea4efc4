import { useId } from 'preact/hooks';
import { Segments } from '../fields.tsx';
import { type ChosenPeriod, type PeriodName, periodLabels } from './periods.ts';

interface Props {
  readonly chosen: ChosenPeriod;
  readonly names: readonly PeriodName[];
}

export function PeriodChoice({ chosen, names }: Props) {
  const { name, choose, days, setDay } = chosen;
  return (
    <>
      {name === 'dates' && (
        <>
          <DayField label="From" value={days[0]} onChange={setDay[0]} />
          <DayField label="To (UTC)" value={days[1]} onChange={setDay[1]} />
        </>
      )}
      <Segments
        label="Period"
        value={name}
        onChange={(value) => choose(names.find((one) => one === value) ?? '30d')}
        options={names.map((value) => ({ value, text: periodLabels[value] }))}
      />
    </>
  );
}

interface DayFieldProps {
  readonly label: string;
  /** Empty: no day, which only a field that may be empty can have. */
  readonly value: string;
  readonly mayBeEmpty?: boolean;
  readonly onChange: (day: string) => void;
}

export function DayField({ label, value, mayBeEmpty = false, onChange }: DayFieldProps) {
  const id = useId();
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="date"
        required={!mayBeEmpty}
        min="2000-01-01"
        max="2099-12-31"
        value={value}
        // A browser reports an empty value while the reader types.
        onChange={({ currentTarget }) => currentTarget.validity.valid && onChange(currentTarget.value)}
      />
    </span>
  );
}

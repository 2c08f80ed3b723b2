interface FactProps {
  readonly label: string;
  readonly value: string;
}

/** One entry of a list of facts (`dl`). */
export function Fact({ label, value }: FactProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

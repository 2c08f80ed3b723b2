interface FactProps {
  readonly label: string;
  readonly value: string;
  /** True if the entry takes a whole line. */
  readonly isWide?: boolean;
}

/** One entry of a list of facts (`dl`). */
export function Fact({ label, value, isWide = false }: FactProps) {
  return (
    <div data-wide={isWide || undefined}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

export interface FactText {
  readonly label: string;
  readonly value: string;
}

interface FactProps extends FactText {
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

/** A word longer than this, in characters, would break within a narrow column. */
const WIDE = 20;

export function Facts({ facts }: { readonly facts: readonly FactText[] }) {
  return (
    <dl className="facts">
      {facts.map((fact) => (
        <Fact key={fact.label} {...fact} isWide={fact.value.length > WIDE} />
      ))}
    </dl>
  );
}

import type { Fact } from './provider-facts.ts';

/** A word longer than this, in characters, would break within a narrow column. */
const WIDE = 20;

/** A list of labels and values. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(({ label, value }) => (
        <div key={label} data-wide={value.length > WIDE || undefined}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

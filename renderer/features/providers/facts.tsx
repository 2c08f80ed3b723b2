import type { Fact } from './provider-facts.ts';

/** Longer than this, a value would break inside a word of its own. */
const WIDE = 20;

/** Labels with what is known under each. */
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

import type { Check, Verification } from '#shared/provider.ts';
import { formatDuration } from '../../text/format.ts';
import { addressOf, checkGroups, type CheckGroup } from './provider-checks.ts';
import { t } from '../../text/t.ts';

const words = t.providers.checks;
const TONES = { passed: 'green', failed: 'red', missing: 'grey' } as const;
const SIGNS = { passed: '✓', failed: '✕', missing: '–' } as const;

/** Every check of the last verification, with each address that was tried. */
export function CheckTable({ verification }: { readonly verification: Verification }) {
  const groups = checkGroups(verification.checks);
  if (groups.length === 0) return <p className="panel-text">{words.none}</p>;
  return (
    <ol className="checks">
      {groups.map((group) => (
        <CheckItem key={group.name} {...group} />
      ))}
    </ol>
  );
}

function CheckItem({ name, outcome, entries }: CheckGroup) {
  return (
    <li data-tone={TONES[outcome]}>
      <h3>
        {words.names[name] ?? name} <small className="quiet">{name}</small>
      </h3>
      <span className="check-word">
        <span aria-hidden="true">{SIGNS[outcome]}</span> {words.outcomes[outcome]}
      </span>
      {outcome !== 'missing' && (
        <ul>
          {entries.map((entry, place) => (
            <EntryLine
              key={`${place} ${entry.detail}`}
              entry={entry}
              alone={entries.length === 1}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

interface EntryLineProps {
  readonly entry: Check;
  /** True for a check's only entry, whose result the check already shows. */
  readonly alone: boolean;
}

function EntryLine({ entry, alone }: EntryLineProps) {
  const { passed, error, detail, latencyMs } = entry;
  const address = addressOf(entry) ?? detail ?? '';
  const passing = alone ? '' : words.outcomes.passed;
  const result = passed ? passing : (error ?? words.outcomes.failed);
  return (
    <li data-tone={passed ? 'green' : 'red'}>
      <code>{address}</code>
      <span className="check-result">{result}</span>
      <span className="check-took">{latencyMs === undefined ? '' : formatDuration(latencyMs)}</span>
    </li>
  );
}

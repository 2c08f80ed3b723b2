import { useId } from 'react';
import type { AgentView } from '#shared/agent.ts';
import type { Control } from '../../api/control.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { FIRST_LIMIT_C, RULE_ROWS, ruleShown, type RuleRow } from './owner-rules-model.ts';
import { OwnerRule } from './owner-rule.tsx';
import { TemperatureLimit } from './temperature-limit.tsx';
import { t } from '../../text/t.ts';

interface OwnerRulesProps {
  readonly view: AgentView;
  readonly control: boolean;
  readonly settings: SettingsState;
  readonly onSave: Control['saveSettings'];
}

/** The owner's rules; each is saved as soon as it is switched. */
export function OwnerRules(props: OwnerRulesProps) {
  const titleId = useId();
  const { rules } = props.view.owner;
  const isFlag = ({ key }: RuleRow) => typeof rules[key] === 'boolean';
  return (
    <section className="owner-rules" aria-labelledby={titleId}>
      <h3 id={titleId}>{t.thisMachine.rules.title}</h3>
      {RULE_ROWS.filter(isFlag).map((row) => (
        <FlagRule key={row.key} {...props} row={row} />
      ))}
      {RULE_ROWS.filter((row) => !isFlag(row)).map((row) => (
        <LimitRule key={row.key} {...props} row={row} />
      ))}
    </section>
  );
}

interface RuleProps extends OwnerRulesProps {
  readonly row: RuleRow;
}

function FlagRule({ view: { owner }, control, settings, onSave, row }: RuleProps) {
  const { shown, error, choose } = useOptimisticValue(
    owner.rules[row.key] === true,
    (on: boolean) => onSave({ agent: { [row.key]: on } }),
  );
  return (
    <OwnerRule
      {...{ control, error }}
      shown={ruleShown(owner, row, shown)}
      variable={variableOf(row, settings)}
      onChange={choose}
    />
  );
}

function LimitRule({ view: { owner }, control, settings, onSave, row }: RuleProps) {
  const limit = owner.rules[row.key];
  const { shown, error, choose } = useOptimisticValue<number | string | null>(
    typeof limit === 'number' ? limit : null,
    (wanted) => onSave({ agent: { [row.key]: wanted } }),
  );
  const rule = ruleShown(owner, row, shown !== null);
  return (
    <OwnerRule
      {...{ control, error }}
      shown={rule}
      variable={variableOf(row, settings)}
      onChange={(on) => choose(on ? FIRST_LIMIT_C : null)}
    >
      <TemperatureLimit
        limit={shown ?? FIRST_LIMIT_C}
        disabled={!control || rule.isHeld || !rule.isOn}
        isRefused={error !== null}
        onLimit={choose}
      />
    </OwnerRule>
  );
}

function variableOf({ key }: RuleRow, settings: SettingsState): string | null {
  return settings.kind === 'read' ? (settings.view['agent']?.[key]?.env ?? null) : null;
}

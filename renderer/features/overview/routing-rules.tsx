import { useId } from 'react';
import type { Control } from '../../api/control.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { useWish } from '../../ui/use-wish.ts';
import type { Line } from './upstream-list.ts';
import { settingAt } from '../settings/setting-text.ts';
import type { Field } from '../settings/field.ts';
import { fieldAt } from '../settings/settings-table.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { Switch } from '../../ui/switch.tsx';

interface LineRulesProps {
  readonly data: LiveData;
  readonly line: Line;
  readonly control: boolean;
  readonly settings: SettingsState;
  readonly actions: Pick<Control, 'saveSettings'>;
}

/** The two switches that belong to the line as a whole. */
export function LineRules({ data, line, control, settings, actions }: LineRulesProps) {
  const { forceZero } = data.status;
  const [first] = line.stations;
  const last = line.stations.at(-1);
  const local = first?.report.label ?? 'Local';
  const shared = { control, settings, actions };
  return (
    <div className="rules">
      <Rule
        {...shared}
        field={fieldAt('routing.forceZero')}
        label="Never spend money (only local)"
        on={forceZero}
        hint={
          forceZero ? `Only ${local} is asked.` : `Where ${local} fails, the others may answer.`
        }
      />
      {last && last.condition.kind !== 'missing' && (
        <Rule
          {...shared}
          field={fieldAt('ondemand.warmup')}
          label="Warm up on demand when local fails"
          on={data.app.warmupEnabled}
          hint={warmupHint(last.report.label, forceZero, data.app.warmupEnabled)}
        />
      )}
    </div>
  );
}

function warmupHint(label: string, forceZero: boolean, on: boolean): string {
  if (forceZero) return 'Not while no money is to be spent.';
  return on
    ? `${label} is then ready when its turn comes.`
    : `${label} starts when its turn comes.`;
}

interface RuleProps extends Pick<LineRulesProps, 'control' | 'settings' | 'actions'> {
  readonly field: Field;
  readonly label: string;
  readonly on: boolean;
  readonly hint: string;
}

function Rule({ field, label, on, hint, control, settings, actions }: RuleProps) {
  const hintId = useId();
  const { shown, error, choose } = useWish(on, (next: boolean) =>
    actions.saveSettings({ [field.section]: { [field.key]: next } }),
  );
  const held = settings.kind === 'read' && settingAt(settings.view, field).source === 'env';
  return (
    <div className="rule">
      <Switch
        label={label}
        on={shown}
        disabled={!control || held}
        describedBy={hintId}
        onChange={choose}
      />
      <p id={hintId} className="quiet">
        {held ? (
          <>
            Held by <code>{field.env}</code>: change it there and restart.
          </>
        ) : (
          hint
        )}
      </p>
      <ErrorText text={error} />
    </div>
  );
}

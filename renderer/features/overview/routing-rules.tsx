import { useId } from 'react';
import type { Control } from '../../api/control.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { useWish } from '../../ui/use-wish.ts';
import type { Line } from './upstream-list.ts';
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
        section="routing"
        setting="forceZero"
        label="Never spend money (only local)"
        on={forceZero}
        hint={
          forceZero ? `Only ${local} is called.` : `If ${local} fails, paid upstreams may answer.`
        }
      />
      {last && last.condition.kind !== 'missing' && (
        <Rule
          {...shared}
          section="ondemand"
          setting="warmup"
          label="Warm up on demand when local fails"
          on={data.app.warmupEnabled}
          hint={warmupHint(last.report.label, forceZero, data.app.warmupEnabled)}
        />
      )}
    </div>
  );
}

function warmupHint(label: string, forceZero: boolean, on: boolean): string {
  if (forceZero) return 'Off while “Never spend money” is on.';
  return on
    ? `${label} starts in the background, ready as a fallback.`
    : `${label} starts only when a request reaches it.`;
}

interface RuleProps extends Pick<LineRulesProps, 'control' | 'settings' | 'actions'> {
  readonly section: string;
  /** Its key in the section. */
  readonly setting: string;
  readonly label: string;
  readonly on: boolean;
  readonly hint: string;
}

function Rule({ section, setting, label, on, hint, control, settings, actions }: RuleProps) {
  const hintId = useId();
  const { shown, error, choose } = useWish(on, (next: boolean) =>
    actions.saveSettings({ [section]: { [setting]: next } }),
  );
  const known = settings.kind === 'read' ? settings.view[section]?.[setting] : undefined;
  const held = known?.source === 'env';
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
            Set by <code>{known.env}</code>; change it there and restart.
          </>
        ) : (
          hint
        )}
      </p>
      <ErrorText text={error} />
    </div>
  );
}

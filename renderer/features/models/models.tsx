import { REQUESTS } from '../../text/en/nouns.ts';
import type { NameDestination, NameUsage, NameUsageReport } from '#shared/models.ts';
import { distinctNames } from '#shared/machine-names.ts';
import { formatAge, formatCount, counted } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Unreadable } from '../../ui/facts.tsx';
import { ErrorText, Select } from '../../ui/fields.tsx';
import { READ_ONLY_NOTE } from '../../ui/buttons.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useServerNow, useWindow } from '../../window-context.ts';
import type { SettingView } from '#shared/settings-view.ts';
import { LargeCopies, SmallWindows } from './windows.tsx';
import { type Labels, placeName } from '../requests/request-text.ts';

const words = t.models;

export function Models() {
  const { readNameUsage, data, frozenAt } = useWindow();
  const { totalRequests } = data.status.stats;
  const { value: asked, failure, again } = useReading(readNameUsage, totalRequests, null);
  const message = failure?.refusal.message ?? null;
  return (
    <>
      <div className="row page-head">
        <div>
          <h1 id="models-title">Models</h1>
          {asked !== null && (
            <p className="quiet">{`The model names that apps asked for in the last ${asked.days} days, and which model answered. A name that isn’t in /v1/models is answered by the model that your engine has loaded, unless you choose another under “Send to”.`}</p>
          )}
        </div>
      </div>
      <SmallWindows />
      {asked !== null && <Asked {...{ asked, again, message }} />}
      {asked === null && message !== null && frozenAt === null && (
        <Unreadable what="The models" message={message} onRetry={again} />
      )}
    </>
  );
}

/** `message`: why they could not be read again; null if they could. */
function Asked(props: {
  readonly asked: NameUsageReport;
  readonly message: string | null;
  readonly again: () => void;
}) {
  const { asked, message, again } = props;
  const { settings, actions } = useWindow();
  const { error, attempt } = useAttempt();
  // Only an owner's window may read the setting.
  const setting =
    settings.kind === 'read' ? (settings.view['routing']?.['modelAliases'] ?? null) : null;
  const pairs = aliasPairs(setting);
  const { problem, names } = asked;
  const isHeld = setting?.source === 'env';

  const map = async (name: string, model: string | null): Promise<void> => {
    const modelAliases = withAlias(pairs, name, model);
    await attempt(actions.saveSettings({ routing: { modelAliases } }));
    again();
  };

  return (
    <section className="panel asked-models" aria-labelledby="models-title">
      {problem !== null && <p className="panel-text">{problem}</p>}
      {isHeld && (
        <p className="panel-text">{`${setting.env} is set in the environment, so aliases can be changed only there.`}</p>
      )}
      <LargeCopies />
      <ErrorText text={error ?? message} />
      {names.length === 0 && problem === null && (
        <p className="panel-text">
          No app has named a model yet. Point one at the base URL above, and each name that it asks
          for appears here.
        </p>
      )}
      {names.length > 0 && (
        <NameTable {...{ asked, pairs, isHeld }} onMap={(name, model) => void map(name, model)} />
      )}
    </section>
  );
}

interface NameTableProps {
  readonly asked: NameUsageReport;
  readonly pairs: readonly string[];
  readonly isHeld: boolean;
  readonly onMap: (name: string, model: string | null) => void;
}

function NameTable({ asked, pairs, isHeld, onMap }: NameTableProps) {
  const now = useServerNow();
  const { name, calls, last, went, map } = words.columns;
  const machines = machinesOf(asked);
  return (
    <table aria-label="Names that apps asked for">
      <thead>
        <tr>
          <th scope="col">{name}</th>
          <th scope="col" className="models-figure">
            {calls}
          </th>
          <th scope="col">{last}</th>
          <th scope="col">{went}</th>
          <th scope="col">{map}</th>
        </tr>
      </thead>
      <tbody>
        {asked.names.map((each) => (
          <tr key={each.name}>
            <th scope="row">
              <code>{each.name}</code>
            </th>
            <td className="models-figure" data-label={calls}>
              {formatCount(each.calls)}
            </td>
            <td className="quiet" data-label={last}>
              {formatAge(Math.max(0, now - each.lastAt))}
            </td>
            <td data-label={went}>
              <ul className="models-went">
                {each.destinations.slice(0, MAX_SHOWN).map((to) => (
                  <li key={`${to.upstream} ${to.provider} ${to.model}`}>
                    <Destination {...{ to, machines }} isOnly={each.destinations.length === 1} />
                  </li>
                ))}
              </ul>
            </td>
            <td data-label={map}>
              <AliasChoice asked={each} models={asked.models} {...{ pairs, isHeld, onMap }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** More destinations say nothing new. */
const MAX_SHOWN = 4;

function machinesOf({ names }: NameUsageReport): Labels {
  const named = names
    .flatMap(({ destinations }) => destinations)
    .flatMap(({ provider, machine }) =>
      provider && machine ? [[provider, machine] as const] : [],
    );
  return distinctNames(Object.fromEntries(named));
}

interface DestinationProps {
  readonly to: NameDestination;
  readonly isOnly: boolean;
  readonly machines: Labels;
}

function Destination({ to, isOnly, machines }: DestinationProps) {
  const { upstreams } = useWindow().data.status;
  const share = isOnly ? null : (
    <span className="quiet">{` (${counted(to.calls, REQUESTS)})`}</span>
  );
  if (to.upstream === null) {
    return (
      <span data-tone="red" className="models-nowhere">
        No answer
        {share}
      </span>
    );
  }
  const names = new Map([...upstreams.map(({ id, label }) => [id, label] as const), ...machines]);
  const where = placeName(to.upstream, to.provider, names);
  return (
    <>
      {`${where}: ${to.model ?? 'its own model'}`}
      {share}
    </>
  );
}

interface AliasChoiceProps extends Omit<NameTableProps, 'asked'> {
  readonly asked: NameUsage;
  readonly models: readonly string[];
}

/** Maps the name as soon as a model is chosen. */
function AliasChoice({ asked, models, pairs, isHeld, onMap }: AliasChoiceProps) {
  const { control } = useWindow();
  const { name, aliasOf } = asked;
  if (!canBeMapped(name)) return null;
  const mapped = control ? mappedTo(pairs, name) : aliasOf;
  const choices = models.includes(mapped ?? '') || mapped === null ? models : [mapped, ...models];
  const byPattern = mapped === null && aliasOf !== null;
  const byItself = models.includes(name) ? 'its own source' : 'the usual order';
  return (
    <Select
      aria-label={`Send ${name} to`}
      aria-describedby={control ? undefined : READ_ONLY_NOTE}
      disabled={!control || isHeld}
      value={mapped ?? ''}
      options={[
        ['', byPattern ? `${aliasOf} (by a pattern)` : byItself],
        ...choices.filter((model) => model !== name).map((model) => [model, model] as const),
      ]}
      onChoose={(model) => onMap(name, model || null)}
    />
  );
}

/** The aliases in force, each as `name=model`. */
function aliasPairs(setting: SettingView | null): readonly string[] {
  const value = setting?.value;
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** The model that a name is mapped to by itself, not by a pattern; null if it is not. */
function mappedTo(pairs: readonly string[], name: string): string | null {
  const pair = pairs.find((each) => each.startsWith(`${name}=`));
  return pair === undefined ? null : pair.slice(name.length + 1);
}

/** The pairs with the name mapped to another model; null takes its alias away. */
function withAlias(
  pairs: readonly string[],
  name: string,
  model: string | null,
): readonly string[] {
  const others = pairs.filter((each) => !each.startsWith(`${name}=`));
  return model === null ? others : [...others, `${name}=${model}`];
}

/** Whether a name can stand in the setting: it has no blank, comma or equals sign. */
const canBeMapped = (name: string): boolean => /^[^\s,=*]{1,200}$/.test(name);

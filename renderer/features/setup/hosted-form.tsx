import { useEffect, useId, useState } from 'react';
import type { HostedId } from '#shared/ids.ts';
import type { Control } from '../../api/control.ts';
import { completeAddress } from '../../text/address.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { READ_ONLY_NOTE } from '../../ui/read-only-note.tsx';
import { ModelField, type ModelList } from './model-field.tsx';
import { labelFor, type Preset, PRESETS } from './presets.ts';
import { costHint } from './test-button.tsx';
import { TestResult } from './test-result.tsx';
import { useTest } from './use-test.ts';
import { t } from '../../text/t.ts';

interface HostedFormProps {
  readonly id: HostedId;
  readonly control: boolean;
  readonly actions: Pick<Control, 'saveSettings' | 'testUpstream' | 'listModels'>;
  /** Called once the upstream is saved and has answered. */
  readonly onWorks: () => void;
}

/** Debounce, so that a typed key does not trigger a request per letter. */
const TYPING_MS = 350;

const words = t.setup.hosted;

/** The form for a hosted upstream: service, key, and a model from its list. */
export function HostedForm({ id, control, actions, onWorks }: HostedFormProps) {
  const [preset, setPreset] = useState<Preset | null>(null);
  const [address, setAddress] = useState('');
  const [apiKey, setApiKey] = useState('');
  const [model, setModel] = useState('');
  const [error, setError] = useState<string | null>(null);
  const test = useTest(id, actions);
  const baseUrl = preset?.baseUrl ?? completeAddress(address);
  const isAsking = baseUrl !== '' && (preset?.key === 'optional' || apiKey !== '');
  const list = useModels(id, isAsking ? { baseUrl, apiKey } : null, actions);
  const chosen = model || onlyIn(list);

  const save = async (service: Preset): Promise<void> => {
    test.clear();
    const label = labelFor(service, baseUrl);
    const settings = { baseUrl, apiKey: apiKey || null, model: chosen, label };
    const refusal = await actions.saveSettings({ [id]: settings });
    setError(refusal?.message ?? null);
    if (refusal === null && (await test.run())) onWorks();
  };

  return (
    <form
      className="setup-form"
      aria-label={words.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (preset !== null) void save(preset);
      }}
    >
      <label className="setup-field">
        <span>{words.service}</span>
        <select
          value={preset?.name ?? ''}
          disabled={!control}
          onChange={({ target }) => {
            setPreset(PRESETS.find(({ name }) => name === target.value) ?? null);
            setModel('');
          }}
        >
          <option value="">{t.setup.chooseOne}</option>
          {PRESETS.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {preset !== null && (
        <>
          <AccessFields
            {...{ preset, address, apiKey, baseUrl }}
            onAddress={setAddress}
            onKey={setApiKey}
          />
          {list !== null && <ModelField {...{ list, chosen }} onChoose={setModel} />}
          <div className="setup-end">
            <button
              type="submit"
              className="button"
              data-primary
              disabled={!control || !isAsking || chosen === ''}
              aria-describedby={control ? undefined : READ_ONLY_NOTE}
            >
              {words.save}
            </button>
            <span className="quiet">{preset.key === 'needed' ? costHint(id) : ''}</span>
          </div>
        </>
      )}
      <TestResult state={test.state} />
      <ErrorText text={error} />
    </form>
  );
}

/** The only model of a list; empty if there are none or several. */
function onlyIn(list: ModelList | null): string {
  return list?.kind === 'listed' && list.models.length === 1 ? (list.models[0] ?? '') : '';
}

interface AccessFieldsProps {
  readonly preset: Preset;
  readonly address: string;
  readonly apiKey: string;
  /** The address to which the key is sent; empty while unknown. */
  readonly baseUrl: string;
  readonly onAddress: (address: string) => void;
  readonly onKey: (key: string) => void;
}

function AccessFields({ preset, address, apiKey, baseUrl, onAddress, onKey }: AccessFieldsProps) {
  const note = useId();
  return (
    <>
      {preset.baseUrl === null && (
        <label className="setup-field">
          <span>{words.baseUrl}</span>
          <input
            value={address}
            placeholder={preset.example}
            inputMode="url"
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => onAddress(target.value)}
          />
        </label>
      )}
      <label className="setup-field">
        <span>{preset.key === 'optional' ? words.optionalKey : words.key}</span>
        <input
          type="password"
          value={apiKey}
          autoComplete="new-password"
          aria-describedby={note}
          onChange={({ target }) => onKey(target.value)}
        />
      </label>
      <p className="quiet" id={note}>
        {preset.keysAt !== '' && words.keysAt(<code>{preset.keysAt}</code>)}
        {words.keptHere(baseUrl === '' ? words.thisAddress : <code>{baseUrl}</code>)}
      </p>
    </>
  );
}

interface Source {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** The models at the entered address, read again when the input changes; null while it is incomplete. */
function useModels(
  id: HostedId,
  source: Source | null,
  { listModels }: Pick<Control, 'listModels'>,
): ModelList | null {
  const [list, setList] = useState<{ readonly of: string; readonly is: ModelList } | null>(null);
  const key = source === null ? null : JSON.stringify([id, source.baseUrl, source.apiKey]);
  useEffect(() => {
    if (key === null) return undefined;
    const [, baseUrl, apiKey] = JSON.parse(key) as [string, string, string];
    let isOver = false;
    const ask = async (): Promise<void> => {
      const answer = await listModels(id, { baseUrl, apiKey });
      if (isOver) return;
      const is: ModelList = answer.ok
        ? { kind: 'listed', models: answer.value }
        : { kind: 'failed', message: answer.refusal.message };
      setList({ of: key, is });
    };
    const timer = setTimeout(() => void ask(), TYPING_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [id, key, listModels]);
  if (key === null) return null;
  return list?.of === key ? list.is : { kind: 'listing' };
}

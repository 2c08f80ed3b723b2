import { formatCount } from '../../text/format.ts';
import { type MouseEvent, useEffect, useId, useState } from 'react';
import type { HostedId, UpstreamId } from '#shared/ids.ts';
import { SERVICES } from '#shared/services.ts';
import type { Control } from '../../api/control.ts';
import { baseUrlsFor, completeBaseUrl } from '../../text/address.ts';
import { refusalText } from '../../text/refusal-text.ts';
import * as t from '../../text/t.ts';
import { Button, ControlButton } from '../../ui/buttons.tsx';
import { ErrorText, Form, Select, TextField } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { costHint, TestResult, useTest } from './upstream-test.tsx';

/** Debounce, so that a typed key does not trigger a request per letter. */
const TYPING_MS = 350;

const words = t.setup.hosted;

const FIELD_LABELS = {
  baseUrl: words.baseUrl,
  apiKey: words.key,
  model: t.setup.model,
  label: words.name,
  priceInput: words.priceInput,
  priceOutput: words.priceOutput,
};

interface HostedFormProps {
  /** The upstream that the service becomes; null if none is free. */
  readonly hosted: HostedId | null;
  /** Whether a rented GPU is offered as well. */
  readonly hasRented?: boolean;
  /** Called once the upstream is saved and has answered. */
  readonly onWorks?: (() => void) | undefined;
}

export function HostedForm({ hosted, hasRented = false, onWorks }: HostedFormProps) {
  const { control } = useWindow();
  const offered = [...(hosted === null ? [] : PRESETS), ...(hasRented ? [RENTED] : [])];
  const field = useId();
  const [preset, setPreset] = useState<Preset | null>(null);
  return (
    <div className="setup-form">
      <label className="setup-field" htmlFor={field}>
        <span>Service</span>
        <Select
          id={field}
          value={preset?.name ?? ''}
          disabled={!control}
          options={[['', t.setup.chooseOne], ...offered.map(({ name }) => [name, name] as const)]}
          onChoose={(chosen) => setPreset(offered.find(({ name }) => name === chosen) ?? null)}
        />
      </label>
      {preset === RENTED && (
        <p className="quiet">Its service starts it for a request and stops it when it is idle.</p>
      )}
      {/* Each service gets a new form, so that the key of one is not sent to another. */}
      {preset !== null && (
        <ServiceForm
          key={preset.name}
          id={preset === RENTED || hosted === null ? 'ondemand' : hosted}
          {...{ preset, onWorks }}
        />
      )}
    </div>
  );
}

interface ServiceFormProps {
  readonly id: Exclude<UpstreamId, 'local'>;
  readonly preset: Preset;
  readonly onWorks: (() => void) | undefined;
}

function ServiceForm({ id, preset, onWorks }: ServiceFormProps) {
  const { actions } = useWindow();
  const [address, setAddress] = useState('');
  const [apiKey, setApiKey] = useState('');
  const [model, setModel] = useState('');
  const [givenName, setGivenName] = useState('');
  const [error, setError] = useState<string | null>(null);
  /** Whether it has been saved, and tested if a test costs little. */
  const [isDone, setDone] = useState(false);
  const note = useId();
  const test = useTest(id);
  const typed = preset.baseUrl ?? completeBaseUrl(address);
  const isKeyless = preset.key === 'optional';
  const isGiven = typed !== '' && (apiKey !== '' || isKeyless);
  // A list of models would start the rented GPU, and a test would too.
  const isRented = preset === RENTED;
  const [asked, setAsked] = useState(0);
  const source = isGiven && !isRented ? { baseUrl: typed, apiKey, asked } : null;
  const found = useModels(id, source, actions);
  const list = isRented ? ({ kind: 'listed', models: [], baseUrl: typed } as const) : found;
  // The address to which the key is sent; empty while unknown.
  const baseUrl = list?.baseUrl ?? typed;
  const chosen = model || onlyIn(list);
  const [price, setPrice] = useState<Price>({ input: '', output: '' });
  const missing = lacks(typed, isGiven, chosen);

  const tested = async (): Promise<void> => {
    if (!(await test.run())) return;
    setDone(true);
    onWorks?.();
  };
  const save = async (): Promise<void> => {
    test.clear();
    setDone(false);
    const label = givenName.trim() || labelFor(preset, baseUrl);
    const key = apiKey || null;
    const settings = { baseUrl, apiKey: key, model: chosen, label, ...priceSettings(price) };
    const refusal = await actions.saveSettings({ [id]: settings });
    setError(refusal && refusalText(refusal, FIELD_LABELS));
    if (refusal !== null) return;
    if (isRented) setDone(true);
    else await tested();
  };

  return (
    <Form className="setup-form" aria-label={preset.name} onSend={save}>
      {preset.baseUrl === null && (
        <TextField
          label={words.baseUrl}
          value={address}
          placeholder={preset.example}
          inputMode="url"
          onChange={setAddress}
        />
      )}
      <TextField
        label={isKeyless ? 'API key (if required)' : words.key}
        type="password"
        value={apiKey}
        autoComplete="new-password"
        aria-describedby={note}
        onChange={setApiKey}
      />
      <p className="quiet" id={note}>
        {preset.keysAt !== '' && (
          <>
            Create one at <code>{preset.keysAt}</code>.{' '}
          </>
        )}
        Stored on this machine; sent only to{' '}
        {baseUrl === '' ? 'this address' : <code>{baseUrl}</code>}.
      </p>
      <ModelField {...{ list, chosen }} onChoose={setModel} onAgain={() => setAsked(asked + 1)} />
      <TextField
        label={words.name}
        value={givenName}
        placeholder={labelFor(preset, baseUrl)}
        onChange={setGivenName}
      />
      {isPaid(preset) && <PriceFields price={price} onType={setPrice} />}
      <SaveRow {...{ id, preset, missing, isDone }} isInDialog={onWorks === undefined} />
      <TestResult state={test.state} onAgain={tested} />
      <ErrorText text={error} />
    </Form>
  );
}

interface SaveRowProps extends Pick<ServiceFormProps, 'id' | 'preset'> {
  /** What it lacks before it can be saved; null if nothing. */
  readonly missing: string | null;
  readonly isDone: boolean;
  readonly isInDialog: boolean;
}

/** The first run goes on by itself; in a dialog the way out becomes the main button. */
function SaveRow({ id, preset, missing, isDone, isInDialog }: SaveRowProps) {
  const { control } = useWindow();
  const isWayOut = isDone && isInDialog;
  return (
    <div className="row">
      {isWayOut && (
        <Button data-primary onClick={closeDialog}>
          Done
        </Button>
      )}
      <ControlButton
        type="submit"
        data-primary={!isWayOut || undefined}
        disabled={!control || missing !== null}
      >
        {preset === RENTED ? t.settings.save.save : 'Save and test'}
      </ControlButton>
      <span className="quiet">{missing ?? saveHint(id, preset, isDone)}</span>
    </div>
  );
}

const closeDialog = ({ currentTarget }: MouseEvent<HTMLElement>): void =>
  currentTarget.closest('dialog')?.close();

function lacks(typed: string, isGiven: boolean, chosen: string): string | null {
  if (typed === '') return 'Enter its address first.';
  if (!isGiven) return 'Enter a key first.';
  return chosen === '' ? 'Choose a model first.' : null;
}

/** What the test costs; once it is saved, what follows. */
function saveHint(id: UpstreamId, preset: Preset, isDone: boolean): string {
  if (isDone) return preset === RENTED ? 'Saved. It starts when the sources before it fail.' : '';
  return preset.key === 'needed' ? costHint(id) : '';
}

/** The only model of a list; empty if there are none or several. */
const onlyIn = (list: ModelList | null): string =>
  list?.kind === 'listed' && list.models.length === 1 ? (list.models[0] ?? '') : '';

type Price = Readonly<Record<'input' | 'output', string>>;

/** What a million tokens cost; without it, nothing is counted as spent. */
const priceSettings = ({ input, output }: Price) => ({
  ...(input.trim() !== '' && { priceInput: amountOf(input) }),
  ...(output.trim() !== '' && { priceOutput: amountOf(output) }),
});

interface PriceFieldsProps {
  readonly price: Price;
  readonly onType: (price: Price) => void;
}

function PriceFields({ price, onType }: PriceFieldsProps) {
  const field = (label: string, key: keyof Price) => (
    <TextField
      label={label}
      value={price[key]}
      placeholder={words.priceExamples[key]}
      inputMode="decimal"
      onChange={(typed) => onType({ ...price, [key]: typed })}
    />
  );
  return (
    <fieldset className="setup-price">
      <legend>Price of a million tokens (optional)</legend>
      {field(words.priceInput, 'input')}
      {field(words.priceOutput, 'output')}
    </fieldset>
  );
}

/** Text that is no number is sent as it is, and the gateway says what is allowed. */
function amountOf(text: string): number | string {
  const amount = text.trim().replace(',', '.');
  return /^\d+(\.\d+)?$/.test(amount) ? Number(amount) : amount;
}

interface Source {
  /** The address to which the key is sent; empty while unknown. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly asked: number;
}

/** The models at the entered address, read again when the input changes; null while it is incomplete. */
function useModels(
  id: UpstreamId,
  source: Source | null,
  { listModels }: Pick<Control, 'listModels'>,
): ModelList | null {
  const [list, setList] = useState<{ readonly of: string; readonly is: ModelList } | null>(null);
  const key =
    source === null ? null : JSON.stringify([id, source.baseUrl, source.apiKey, source.asked]);
  useEffect(() => {
    if (key === null) return undefined;
    const [, baseUrl, apiKey] = JSON.parse(key) as [string, string, string];
    let isOver = false;
    const ask = async (): Promise<void> => {
      let failed: ModelList | null = null;
      for (const at of baseUrlsFor(baseUrl)) {
        // The second address is asked only if the first has no list.
        const answer = await listModels(id, { baseUrl: at, apiKey });
        if (isOver) return;
        if (answer.ok) {
          setList({ of: key, is: { kind: 'listed', models: answer.value, baseUrl: at } });
          return;
        }
        const { refusal } = answer;
        failed = { kind: 'failed', message: refusalText(refusal, FIELD_LABELS), baseUrl: at };
        if (refusal.code !== 'upstream_bad_response') break;
      }
      if (failed !== null) setList({ of: key, is: failed });
    };
    const timer = setTimeout(() => void ask(), TYPING_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [id, key, listModels]);
  if (key === null) return null;
  return list?.of === key ? list.is : { kind: 'listing', baseUrl: null };
}

type ModelList =
  | { readonly kind: 'listing'; readonly baseUrl: null }
  /** `baseUrl`: where it is, with the version that the address may have lacked. */
  | { readonly kind: 'listed'; readonly models: readonly string[]; readonly baseUrl: string }
  | { readonly kind: 'failed'; readonly message: string; readonly baseUrl: string };

interface ModelFieldProps {
  /** Null if the list was not asked for yet. */
  readonly list: ModelList | null;
  readonly chosen: string;
  readonly onChoose: (model: string) => void;
  readonly onAgain: () => void;
}

const SEARCHED_FROM = 20;

/** Chooses a model from the upstream's list; without a list its name is typed. */
function ModelField({ list, chosen, onChoose, onAgain }: ModelFieldProps) {
  const [query, setQuery] = useState('');
  if (list === null) return null;
  if (list.kind === 'listing') return <p className="quiet">Listing its models…</p>;
  if (list.kind === 'listed' && list.models.length > 0) {
    const found = list.models.filter((model) => model.toLowerCase().includes(query.toLowerCase()));
    return (
      <>
        {list.models.length > SEARCHED_FROM && (
          <TextField
            label={`Search ${formatCount(list.models.length)} models`}
            value={query}
            onChange={(text) => {
              setQuery(text);
              onChoose('');
            }}
          />
        )}
        <label className="setup-field">
          <span>{t.setup.model}</span>
          <Select
            value={chosen}
            options={[
              [
                '',
                query === '' ? t.setup.chooseOne : `Choose one of ${formatCount(found.length)}…`,
              ],
              ...found.map((model) => [model, model] as const),
            ]}
            onChoose={onChoose}
          />
        </label>
      </>
    );
  }
  return (
    <>
      {list.kind === 'failed' && (
        <div className="row">
          <ErrorText text={list.message} />
          <Button onClick={onAgain}>{t.setup.again}</Button>
        </div>
      )}
      <TextField label={t.setup.model} value={chosen} onChange={onChoose} />
    </>
  );
}

interface Preset {
  readonly name: string;
  /** Null if it runs on the user's own machine, whose address is entered. */
  readonly baseUrl: string | null;
  /** An example address; empty if the address is known. */
  readonly example: string;
  readonly key: 'needed' | 'optional';
  /** The page on which a key is created; empty for programs. */
  readonly keysAt: string;
}

const { onAnother, other } = t.setup.hosted;

const program = (name: string, example: string): Preset => ({
  name,
  baseUrl: null,
  example,
  key: 'optional',
  keysAt: '',
});

export const PRESETS: readonly Preset[] = [
  ...SERVICES.map(([name, baseUrl, keysAt]) => {
    return { name, baseUrl, example: '', key: 'needed', keysAt } as const;
  }),
  program(onAnother('Ollama'), 'http://192.168.1.20:11434/v1'),
  program(onAnother('LM Studio'), 'http://192.168.1.20:1234/v1'),
  program(onAnother('vLLM'), 'http://192.168.1.20:8000/v1'),
  program(other, 'https://api.example.com/v1'),
];

/** A GPU that its host starts on a request, and stops when it is idle. */
const RENTED: Preset = {
  ...program(
    'Rented GPU (such as RunPod Serverless)',
    'https://api.runpod.ai/v2/ENDPOINT_ID/openai',
  ),
  key: 'needed',
};

/** Engines on another machine of the user's have no price. */
const isPaid = ({ name, key }: Preset): boolean => key === 'needed' || name === other;

/** The label of an upstream after its set-up: the service's name, or an address's host and port. */
export function labelFor({ name, baseUrl }: Preset, address: string): string {
  if (baseUrl !== null) return name;
  if (name === RENTED.name) return 'Rented GPU';
  return URL.canParse(address) ? new URL(address).host : name;
}

import { t } from '../../text/t.ts';

export type ModelList =
  | { readonly kind: 'listing' }
  | { readonly kind: 'listed'; readonly models: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string };

interface ModelFieldProps {
  readonly list: ModelList;
  readonly chosen: string;
  readonly onChoose: (model: string) => void;
}

/** Chooses a model from the upstream's list; without a list its name is typed. */
export function ModelField({ list, chosen, onChoose }: ModelFieldProps) {
  if (list.kind === 'listing') return <p className="quiet">{t.setup.listing}</p>;
  if (list.kind === 'listed' && list.models.length > 0) {
    return (
      <label className="setup-field">
        <span>{t.setup.model}</span>
        <select value={chosen} onChange={({ target }) => onChoose(target.value)}>
          <option value="">{t.setup.chooseOne}</option>
          {list.models.map((model) => (
            <option key={model}>{model}</option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <>
      {list.kind === 'failed' && (
        <p className="error-text" role="alert">
          {list.message}
        </p>
      )}
      <label className="setup-field">
        <span>{t.setup.model}</span>
        <input
          value={chosen}
          autoComplete="off"
          spellCheck={false}
          onChange={({ target }) => onChoose(target.value)}
        />
      </label>
    </>
  );
}

import { assertNever } from '#shared/assert.ts';
import type { JoinNote } from './provider-join.ts';
import { t } from '../../text/t.ts';

interface JoinWarningProps {
  readonly note: JoinNote | null;
  /** True when read from the join line; false when guessed from this page's address. */
  readonly certain: boolean;
}

const words = t.joining.warning;

export function JoinWarning({ note, certain }: JoinWarningProps) {
  if (note === null) return null;
  return (
    <div className="notice">
      <Warning note={note} certain={certain} />
    </div>
  );
}

function Warning({ note, certain }: JoinWarningProps & { readonly note: JoinNote }) {
  switch (note) {
    case 'here-only':
      return (
        <>
          <p>
            <strong>{certain ? words.hereOnly : words.mustReach}</strong>{' '}
            {certain ? words.hereOnlyText : words.mustReachText}
          </p>
          <ul className="variables">
            <li>{words.host(<code>SWITCHYARD_HOST</code>)}</li>
            <li>{words.keys(<code>SWITCHYARD_API_KEYS</code>)}</li>
          </ul>
        </>
      );
    case 'plain-http':
      return <p>{words.plainHttp}</p>;
    default:
      return assertNever(note, 'note');
  }
}

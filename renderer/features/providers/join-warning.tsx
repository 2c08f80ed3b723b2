import { assertNever } from '#shared/assert.ts';
import type { JoinNote } from './provider-join.ts';

interface JoinWarningProps {
  readonly note: JoinNote | null;
  /** True when read from the join line; false when guessed from this page's address. */
  readonly certain: boolean;
}

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
            <strong>
              {certain
                ? 'Only this machine can use this line.'
                : 'The other machine must be able to reach this gateway.'}
            </strong>{' '}
            {certain
              ? 'It names an address that other machines cannot reach. To let them in, start the gateway with:'
              : 'This page came over an address that only this machine has. If the gateway listens nowhere else, start it with:'}
          </p>
          <ul className="variables">
            <li>
              <code>SWITCHYARD_HOST</code>: this machine’s address in your network or tailnet
            </li>
            <li>
              <code>SWITCHYARD_API_KEYS</code>: a key of your own, which every client then needs
            </li>
          </ul>
        </>
      );
    case 'plain-http':
      return (
        <p>
          <strong>This gateway is reached over plain HTTP.</strong> Whoever can listen on the
          network between can read prompts and answers, and the line itself. Go on in a network that
          you trust, or over a tailnet, which keeps it private.
        </p>
      );
    default:
      return assertNever(note, 'note');
  }
}

import { t } from '../text/t.ts';

/** Why a link did not give control, and what to do. */
export function Notice({ text }: { readonly text: string }) {
  return (
    <p className="notice" role="alert">
      {t.shell.noControl(text)}
    </p>
  );
}

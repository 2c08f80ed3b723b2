/** Why a link did not give control, and what to do. */
export function Notice({ text }: { readonly text: string }) {
  return (
    <p className="notice" role="alert">
      <strong>This page did not get control.</strong> {text} Run <code>switchyard open</code> on the
      gateway's machine for a fresh link.
    </p>
  );
}

export function ErrorText({ text }: { readonly text: string | null }) {
  return text === null ? null : (
    <p className="error-text" role="alert">
      {text}
    </p>
  );
}

/** A track and its siding. */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 22h26M9 22c7 0 6-12 13-12h7" />
      <circle cx="8" cy="22" r="3.6" />
    </svg>
  );
}

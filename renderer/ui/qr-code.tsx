import { encode } from 'uqr';

/** Light modules that the standard asks for around the code. */
const QUIET_ZONE = 4;

/** A text for a camera, dark on light in both themes, because not every reader takes it the other way round. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg className="qr-code" aria-label={label} viewBox={`0 0 ${size} ${size}`}>
      <path d={path} shapeRendering="crispEdges" />
    </svg>
  );
}

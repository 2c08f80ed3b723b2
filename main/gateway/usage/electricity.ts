import type { ProviderEnergy } from '#shared/provider.ts';
import type { Tokens, UsageFigures } from '#shared/usage.ts';

/** What a token of a model takes on a machine; null while unknown. */
export type JoulesPerToken = (provider: string, model: string) => number | null;

/** Before these, the first seconds of a measurement would decide. */
const MIN_TOKENS = 50;

export function joulesPerTokenIn(energy: ProviderEnergy | null, model: string): number | null {
  const measured = energy?.models.find((each) => each.model === model);
  return measured === undefined || measured.tokens < MIN_TOKENS
    ? null
    : measured.joules / measured.tokens;
}

const JOULES_PER_KWH = 3_600_000;

interface MeasuredCall {
  readonly provider: string | null;
  readonly model: string;
  readonly tokens: Tokens | null;
}

/** The electricity of a call to a machine, by what its tokens have taken so far; nothing where that is unknown. */
export function energyFigures(
  { provider, model, tokens }: MeasuredCall,
  joulesPerToken: JoulesPerToken,
  priceKwh: number | null,
): Partial<UsageFigures> {
  const rate = provider === null || tokens === null ? null : joulesPerToken(provider, model);
  if (rate === null || tokens === null) return {};
  const joules = rate * tokens.output;
  const energyNano = priceKwh === null ? 0 : Math.round((joules / JOULES_PER_KWH) * priceKwh * 1e9);
  return { energyMj: Math.round(joules * 1000), energyNano };
}

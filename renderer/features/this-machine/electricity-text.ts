import type { AgentEnergy } from '#shared/agent.ts';
import { t } from '../../text/t.ts';
import type { FactText } from '../../ui/facts.tsx';

const words = t.thisMachine.electricity;

const HOURS_A_DAY = 24;
const W_PER_KW = 1000;
const JOULES_PER_KWH = 3_600_000;
const MILLION = 1e6;
/** Before these, the first seconds of a measurement would decide. */
const MIN_TOKENS = 50;

/** What this machine's GPUs take, as far as it is known: when idle, and for a token of each model. */
export function electricityFacts(energy: AgentEnergy): readonly FactText[] {
  const { idleWatts, models, isNet } = energy;
  const idle =
    idleWatts === null ? [] : [{ label: words.idle, value: idleText(idleWatts, energy) }];
  const measured = models
    .filter(({ tokens }) => tokens >= MIN_TOKENS)
    .map(({ model, joules, tokens }) => ({
      label: isNet ? words.perToken(model) : words.perTokenGross(model),
      value: tokenText(joules / tokens, energy),
    }));
  return [...idle, ...measured];
}

/** Idle power, and what it comes to in a day. */
function idleText(watts: number, { priceKwh, currency }: AgentEnergy): string {
  const kwh = (watts * HOURS_A_DAY) / W_PER_KW;
  const cost = priceKwh === null ? null : words.money(kwh * priceKwh, currency);
  return words.idleADay(Math.round(watts), kwh, cost);
}

/** Energy of a token, and the hosted price of a million from which the own GPU pays. */
function tokenText(joules: number, { priceKwh, currency }: AgentEnergy): string {
  const perToken = words.joules(joules);
  if (priceKwh === null) return perToken;
  return words.pays(perToken, words.money(breakEven(joules, priceKwh), currency));
}

/** The price of a million output tokens at which a hosted upstream costs as much as the electricity here. */
export function breakEven(joulesPerToken: number, priceKwh: number): number {
  return ((joulesPerToken * MILLION) / JOULES_PER_KWH) * priceKwh;
}

import { duration, plural } from "./frame.ts"

export const t = {
  title: "Limits and lockouts",
  about: "What refuses calls now, and the settings. A list names networks without their last part, as the audit does.",
  disabled: "The operator has disabled all limits. The defaults are shown.",
  lockouts: "Refused now",
  noLockout: "No rate limit or lock refuses calls now.",
  limit: "Limit",
  kind: "Kind",
  lock: "Lock after failed proofs",
  rateLimit: "Rate limit",
  network: "Network",
  unknown: "unknown",
  principal: "Principal",
  nobody: "without a credential",
  since: "Since",
  until: "Until",
  reload: "Reload",
  lift: "Lift",
  liftTitle: "Lift this lockout?",
  liftAbout: (kind: string, name: string, network: string) =>
    `1 lockout ends: ${kind} “${name}” for ${network}. Its count starts again, so a person who guesses gets new attempts.`,
  locked: "Locked principals",
  noLocked: "No principal is locked.",
  reason: "Reason of the lock",
  unlock: "Unlock",
  policies: "Lockout policies",
  policy: (failures: number, seconds: number, first: number, longest: number) =>
    `${plural(failures, "failure", "failures")} in ${duration(seconds)} lock for ${duration(first)}, at most ${duration(longest)}`,
  settings: "Rate limits",
  rate: (calls: number, seconds: number) => `${plural(calls, "call", "calls")} in ${duration(seconds)}`,
}
